package dev.palisade.incidents;

import dev.palisade.redis.RedisBinary;
import dev.palisade.scenario.Preloaded;
import java.util.Optional;
import java.util.function.Consumer;

/** Everything that can happen to a Redis here, each by a method that does it. */
enum RedisIncident implements Incident<RedisNode> {
    KILLED_KEEPING_NOTHING("kill -9, nothing on disk", Crashes::withoutPersistence),
    KILLED_WITH_SNAPSHOT("kill -9, RDB", Crashes::withSnapshot),
    KILLED_WITH_SLOW_DISK("kill -9, AOF everysec, slow disk", Crashes::withAppendOnlyFileOnSlowDisk, Needs.PRELOAD),
    POWER_LOST("loss of power, AOF everysec", Crashes::lossOfPower, Needs.PRELOAD),
    OLD_BACKUP("old backup restored", Crashes::oldBackupRestored),
    FLUSHED("FLUSHALL", Losses::flushAll),
    KEYS_DELETED("all keys deleted", Losses::keysDeleted),
    COUNTERS_DELETED("counters deleted or expired", Losses::countersDeleted),
    COUNTERS_OVERWRITTEN("counters are no numbers", Losses::countersOverwritten),
    EVICTED("eviction", Losses::evicted),
    LAGGING_REPLICA("lagging replica promoted", Promotions::laggingReplica),
    SPLIT_BRAIN("split brain", Promotions::splitBrain),
    SPLIT_BRAIN_RELOADED("split brain, library loaded again", Promotions::splitBrainReloaded),
    BACK_TO_THE_FORMER("demoted and promoted again", Promotions::backToTheFormer),
    BACK_AT_ONCE("the same within a moment", Promotions::backAtOnce),
    TWO_EPOCHS_IN_ONE_SECOND("two losses within one second", Promotions::twoEpochsInOneSecond),
    FUNCTIONS_FLUSHED("FUNCTION FLUSH", Losses::functionsFlushed),
    LIBRARIES_REPLACED("FUNCTION LOAD REPLACE", Losses::librariesReplaced),
    CLOCK_FORWARD("clock an hour forward", Clocks::forward, Needs.PRELOAD),
    CLOCK_BACK("clock an hour back", Clocks::back, Needs.PRELOAD),
    CLOCK_AHEAD_THEN_PROMOTED("tokens ahead of the clock, failover", Clocks::aheadThenPromoted, Needs.PRELOAD),
    CLOCK_AHEAD_THEN_ALL_LOST("tokens ahead of the clock, all is lost", Clocks::aheadThenAllLost, Needs.PRELOAD),
    PUBLISHED_IS_LOST("pub/sub lost", Networks::publishedIsLost),
    LINK_FROZEN("link frozen", Networks::frozen),
    REPLIES_LOST("replies lost", Networks::repliesLost),
    SERVER_PAUSED("lock server paused", Pauses::paused),
    SERVER_PAUSED_AND_ALL_LOST(
            "lock server paused, all is lost", scene -> Pauses.pausedAndAllLost(scene, Losses::flushAll)),
    SERVERS_PAUSED_IN_TURN("lock servers paused in turn", Pauses::pausedInTurn);

    private enum Needs {
        NOTHING,
        PRELOAD
    }

    private final String words;

    @SuppressWarnings("ImmutableEnumChecker") // A method of ours, which keeps nothing.
    private final Consumer<Scene<RedisNode>> happening;

    private final Needs needs;

    RedisIncident(String words, Consumer<Scene<RedisNode>> happening) {
        this(words, happening, Needs.NOTHING);
    }

    RedisIncident(String words, Consumer<Scene<RedisNode>> happening, Needs needs) {
        this.words = words;
        this.happening = happening;
        this.needs = needs;
    }

    @Override
    public void happen(Scene<RedisNode> scene) {
        happening.accept(scene);
    }

    @Override
    public boolean needsPreload() {
        return needs == Needs.PRELOAD;
    }

    /** The reason why this machine cannot preload a clock and a disk into a Redis, with what to install; empty if it can. */
    static Optional<String> preloadMissing() {
        if (!Preloaded.possible()) {
            return Optional.of("no working C compiler (cc), or not Linux");
        }
        return RedisBinary.find().bundled()
                ? Optional.of("no redis-server on the PATH, and the bundled one is linked statically; install Redis")
                : Optional.empty();
    }

    @Override
    public boolean leftOver() {
        return this == CLOCK_AHEAD_THEN_ALL_LOST;
    }

    @Override
    public String toString() {
        return words;
    }
}
