package dev.palisade.incidents;

import java.util.function.Consumer;

/** Every failure of PostgreSQL that is injected here, each by a method that does it. */
enum PostgresIncident implements Incident<PostgresNode> {
    KILLED("kill -9", PostgresFailures::killed),
    RESTARTED("fast restart", PostgresFailures::restarted),
    BACKENDS_TERMINATED("all sessions terminated", PostgresFailures::backendsTerminated),
    LAGGING_STANDBY("lagging standby promoted", Promotions::laggingReplica),
    SYNCHRONOUS_STANDBY("synchronous standby promoted", PostgresFailures::synchronousStandby),
    SPLIT_BRAIN("split brain", PostgresFailures::splitBrain),
    SPLIT_BRAIN_APART("split brain, successor out of reach", PostgresFailures::splitBrainApart),
    BACK_TO_THE_FORMER("demoted, rebuilt, promoted again", PostgresFailures::backToTheFormer),
    BACKUP_RESTORED("older backup restored", PostgresFailures::backupRestored),
    BATCHES_DELETED("rows of batches deleted", PostgresFailures::batchesDeleted),
    ROW_DELETED("the log's row deleted", PostgresFailures::rowDeleted),
    ROW_PUT_BACK("the log's row put back", PostgresFailures::rowPutBack),
    TRUNCATED("tables truncated", PostgresFailures::truncated),
    DROPPED("tables dropped", PostgresFailures::dropped),
    ROW_LOCKED("the log's row locked", PostgresFailures::rowLocked),
    POSTGRESQL_PAUSED("PostgreSQL paused", PostgresFailures::paused),
    COMMITS_WAIT("synchronous standby paused", PostgresFailures::commitsWait),
    LINK_FROZEN("link frozen", Networks::frozen),
    REPLIES_LOST("replies lost", Networks::repliesLost),
    SERVER_PAUSED("lock server paused", Pauses::paused),
    SERVER_PAUSED_AND_TRUNCATED(
            "lock server paused, tables truncated",
            scene -> Pauses.pausedAndAllLost(scene, PostgresFailures::truncated)),
    SERVERS_PAUSED_IN_TURN("lock servers paused in turn", Pauses::pausedInTurn);

    private final String words;

    @SuppressWarnings("ImmutableEnumChecker") // A method of ours, which keeps nothing.
    private final Consumer<Scene<PostgresNode>> happening;

    PostgresIncident(String words, Consumer<Scene<PostgresNode>> happening) {
        this.words = words;
        this.happening = happening;
    }

    @Override
    public void happen(Scene<PostgresNode> scene) {
        happening.accept(scene);
    }

    /** A lock server takes over at a replaced primary where its successor does not reply: nothing can tell it. */
    @Override
    public boolean leftOver() {
        return this == SPLIT_BRAIN_APART;
    }

    @Override
    public String toString() {
        return words;
    }
}
