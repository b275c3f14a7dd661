package dev.palisade.faults;

import dev.palisade.faults.Schedule.Planned;

/**
 * Injector of the faults of the locks' Redis and of the links to it. It records every fault that may lose data.
 * Deleting the token counter or all functions loses no decision.
 */
final class RedisFaultInjector {
    private static final String REDIS = "redis";

    private final Cluster cluster;
    private final LockHistoryPoller lockHistories;
    private final FaultLifecycle lifecycle;

    RedisFaultInjector(Cluster cluster, LockHistoryPoller lockHistories, FaultLifecycle lifecycle) {
        this.cluster = cluster;
        this.lockHistories = lockHistories;
        this.lifecycle = lifecycle;
    }

    void inject(Planned fault) {
        LockRedis redis = cluster.redis();
        switch (fault.kind()) {
            case FREEZE_REDIS_LINK, CUT_REDIS_LINK -> disturb(fault, fault.dice() / 3 % cluster.servers());
            case STOP_REDIS ->
                cluster.exclusively(REDIS, () -> lifecycle.lasting(fault, REDIS, "", redis::stop, redis::resume));
            case KILL_REDIS -> cluster.exclusively(REDIS, () -> kill(fault, redis::start));
            case EMPTY_REDIS -> cluster.exclusively(REDIS, () -> kill(fault, redis::startEmpty));
            case FLUSH_REDIS ->
                cluster.exclusively(REDIS, () -> lifecycle.instant(fault, REDIS, "", () -> lose(fault, redis::flush)));
            case FLUSH_FUNCTIONS ->
                cluster.exclusively(REDIS, () -> lifecycle.instant(fault, REDIS, "", redis::flushFunctions));
            case DELETE_COUNTER ->
                cluster.exclusively(REDIS, () -> lifecycle.instant(fault, REDIS, "", redis::deleteCounter));
            default -> throw new IllegalArgumentException(fault.kind() + " is no fault of Redis");
        }
    }

    private void disturb(Planned fault, int number) {
        String name = Cluster.serverName(number);
        cluster.exclusively("way to redis from " + name, () -> {
            Link link = cluster.redis().link(number);
            if (fault.kind() == Schedule.Kind.CUT_REDIS_LINK) {
                lifecycle.instant(fault, name, "", link::cut);
            } else {
                int direction = fault.dice() % 3;
                lifecycle.lasting(
                        fault,
                        name,
                        FaultInjector.directionName(direction),
                        () -> FaultInjector.freeze(link, direction),
                        link::heal);
            }
        });
    }

    /** Redis fsyncs once a second, so a restart on its data may lose the last second. */
    private void kill(Planned fault, Runnable start) {
        long[] from = new long[1];
        lifecycle.lasting(
                fault,
                REDIS,
                "",
                () -> lockHistories.aroundDataLoss(() -> {
                    from[0] = System.nanoTime();
                    cluster.redis().kill();
                }),
                () -> {
                    start.run();
                    lifecycle.recordDataLoss(fault, from[0]);
                });
    }

    private void lose(Planned fault, Runnable loss) {
        lockHistories.aroundDataLoss(() -> {
            long from = System.nanoTime();
            loss.run();
            lifecycle.recordDataLoss(fault, from);
        });
    }
}
