package dev.palisade.faults;

import dev.palisade.faults.Schedule.Planned;

/**
 * The faults of the Redis in which the locks are, and of the way to it. It says of each whether data may have been lost. Deleting the
 * count of tokens or all functions loses nothing that anybody may see.
 */
final class RedisHarm {
    private static final String REDIS = "redis";

    private final Cast cast;
    private final LockHistories lockHistories;
    private final Course course;

    RedisHarm(Cast cast, LockHistories lockHistories, Course course) {
        this.cast = cast;
        this.lockHistories = lockHistories;
        this.course = course;
    }

    void happen(Planned fault) {
        LockRedis redis = cast.redis();
        switch (fault.kind()) {
            case FREEZE_REDIS_LINK, CUT_REDIS_LINK -> disturb(fault, fault.dice() / 3 % cast.servers());
            case STOP_REDIS -> cast.alone(REDIS, () -> course.lasting(fault, REDIS, "", redis::stop, redis::goOn));
            case KILL_REDIS -> cast.alone(REDIS, () -> kill(fault, redis::start));
            case EMPTY_REDIS -> cast.alone(REDIS, () -> kill(fault, redis::startEmpty));
            case FLUSH_REDIS ->
                cast.alone(REDIS, () -> course.instant(fault, REDIS, "", () -> lose(fault, redis::flush)));
            case FLUSH_FUNCTIONS -> cast.alone(REDIS, () -> course.instant(fault, REDIS, "", redis::flushFunctions));
            case DELETE_COUNTER -> cast.alone(REDIS, () -> course.instant(fault, REDIS, "", redis::deleteCounter));
            default -> throw new IllegalArgumentException(fault.kind() + " is no fault of Redis");
        }
    }

    private void disturb(Planned fault, int number) {
        String name = Cast.serverName(number);
        cast.alone("way to redis from " + name, () -> {
            Link link = cast.redis().link(number);
            if (fault.kind() == Schedule.Kind.CUT_REDIS_LINK) {
                course.instant(fault, name, "", link::cut);
            } else {
                int way = fault.dice() % 3;
                course.lasting(fault, name, Harm.wayName(way), () -> Harm.freeze(link, way), link::heal);
            }
        });
    }

    /** Each second it is made sure that what was written is on disk; so even with its data it may have lost the last. */
    private void kill(Planned fault, Runnable start) {
        long[] from = new long[1];
        course.lasting(
                fault,
                REDIS,
                "",
                () -> lockHistories.around(() -> {
                    from[0] = System.nanoTime();
                    cast.redis().kill();
                }),
                () -> {
                    start.run();
                    course.lost(fault, from[0]);
                });
    }

    private void lose(Planned fault, Runnable loss) {
        lockHistories.around(() -> {
            long from = System.nanoTime();
            loss.run();
            course.lost(fault, from);
        });
    }
}
