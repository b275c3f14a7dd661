package dev.palisade.incidents;

import dev.palisade.redis.RedisBinary;
import dev.palisade.scenario.Preloaded;
import java.util.Optional;
import java.util.function.Consumer;

/** Incidents of Redis, each with the method that injects it. The names of the constants are in {@code state.json}. */
enum RedisIncident implements Incident<RedisNode> {
    KILLED_KEEPING_NOTHING("kill -9, nothing on disk", CrashFaults::withoutPersistence),
    KILLED_WITH_SNAPSHOT("kill -9, RDB", CrashFaults::withSnapshot),
    KILLED_WITH_SLOW_DISK("kill -9, AOF everysec, slow disk", CrashFaults::withAppendOnlyFileOnSlowDisk, Needs.PRELOAD),
    POWER_LOST("loss of power, AOF everysec", CrashFaults::lossOfPower, Needs.PRELOAD),
    OLD_BACKUP("old backup restored", CrashFaults::oldBackupRestored),
    FLUSHED("FLUSHALL", DataLossFaults::flushAll),
    KEYS_DELETED("all keys deleted", DataLossFaults::keysDeleted),
    COUNTERS_DELETED("counters deleted or expired", DataLossFaults::countersDeleted),
    COUNTERS_OVERWRITTEN("counters are no numbers", DataLossFaults::countersOverwritten),
    EVICTED("eviction", DataLossFaults::evicted),
    LAGGING_REPLICA("lagging replica promoted", FailoverFaults::laggingReplica),
    SPLIT_BRAIN("split brain", FailoverFaults::splitBrain),
    SPLIT_BRAIN_RELOADED("split brain, library loaded again", FailoverFaults::splitBrainReloaded),
    BACK_TO_THE_FORMER("demoted and promoted again", FailoverFaults::backToTheFormer),
    BACK_AT_ONCE("the same within a moment", FailoverFaults::backAtOnce),
    TWO_EPOCHS_IN_ONE_SECOND("two losses within one second", FailoverFaults::twoEpochsInOneSecond),
    FUNCTIONS_FLUSHED("FUNCTION FLUSH", DataLossFaults::functionsFlushed),
    LIBRARIES_REPLACED("FUNCTION LOAD REPLACE", DataLossFaults::librariesReplaced),
    CLOCK_FORWARD("clock an hour forward", ClockFaults::forward, Needs.PRELOAD),
    CLOCK_BACK("clock an hour back", ClockFaults::back, Needs.PRELOAD),
    CLOCK_AHEAD_THEN_PROMOTED("tokens ahead of the clock, failover", ClockFaults::aheadThenPromoted, Needs.PRELOAD),
    CLOCK_AHEAD_THEN_ALL_LOST("tokens ahead of the clock, all is lost", ClockFaults::aheadThenAllLost, Needs.PRELOAD),
    PUBLISHED_IS_LOST("pub/sub lost", NetworkFaults::publishedIsLost),
    LINK_FROZEN("link frozen", NetworkFaults::frozen),
    REPLIES_LOST("replies lost", NetworkFaults::repliesLost),
    SERVER_PAUSED("lock server paused", PauseFaults::paused),
    SERVER_PAUSED_AND_ALL_LOST(
            "lock server paused, all is lost",
            context -> PauseFaults.pausedAndAllLost(context, DataLossFaults::flushAll)),
    SERVERS_PAUSED_IN_TURN("lock servers paused in turn", PauseFaults::pausedInTurn);

    private enum Needs {
        NOTHING,
        PRELOAD
    }

    private final String description;

    @SuppressWarnings("ImmutableEnumChecker") // A method of ours, which keeps nothing.
    private final Consumer<FaultContext<RedisNode>> injection;

    private final Needs needs;

    RedisIncident(String description, Consumer<FaultContext<RedisNode>> injection) {
        this(description, injection, Needs.NOTHING);
    }

    RedisIncident(String description, Consumer<FaultContext<RedisNode>> injection, Needs needs) {
        this.description = description;
        this.injection = injection;
        this.needs = needs;
    }

    @Override
    public void inject(FaultContext<RedisNode> context) {
        injection.accept(context);
    }

    @Override
    public boolean needsPreload() {
        return needs == Needs.PRELOAD;
    }

    /**
     * The reason why this machine cannot preload a clock and a disk into a Redis, with what to install; empty if it
     * can.
     */
    static Optional<String> preloadMissing() {
        if (!Preloaded.possible()) {
            return Optional.of("no working C compiler (cc), or not Linux");
        }
        return RedisBinary.find().bundled()
                ? Optional.of("no redis-server on the PATH, and the bundled one is linked statically; install Redis")
                : Optional.empty();
    }

    @Override
    public boolean isExcluded() {
        return this == CLOCK_AHEAD_THEN_ALL_LOST;
    }

    @Override
    public String toString() {
        return description;
    }
}
