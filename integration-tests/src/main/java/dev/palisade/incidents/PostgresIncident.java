package dev.palisade.incidents;

import java.util.function.Consumer;

/**
 * Incidents of PostgreSQL, each with the method that injects it. The names of the constants are in {@code state.json}.
 */
enum PostgresIncident implements Incident<PostgresNode> {
    KILLED("kill -9", PostgresFaults::killed),
    RESTARTED("fast restart", PostgresFaults::restarted),
    BACKENDS_TERMINATED("all sessions terminated", PostgresFaults::backendsTerminated),
    LAGGING_STANDBY("lagging standby promoted", FailoverFaults::laggingReplica),
    SYNCHRONOUS_STANDBY("synchronous standby promoted", PostgresFaults::synchronousStandby),
    SPLIT_BRAIN("split brain", PostgresFaults::splitBrain),
    SPLIT_BRAIN_APART("split brain, successor out of reach", PostgresFaults::splitBrainApart),
    BACK_TO_THE_FORMER("demoted, rebuilt, promoted again", PostgresFaults::backToTheFormer),
    BACKUP_RESTORED("older backup restored", PostgresFaults::backupRestored),
    BATCHES_DELETED("rows of batches deleted", PostgresFaults::batchesDeleted),
    ROW_DELETED("the log's row deleted", PostgresFaults::rowDeleted),
    ROW_PUT_BACK("the log's row put back", PostgresFaults::rowPutBack),
    TRUNCATED("tables truncated", PostgresFaults::truncated),
    DROPPED("tables dropped", PostgresFaults::dropped),
    ROW_LOCKED("the log's row locked", PostgresFaults::rowLocked),
    POSTGRESQL_PAUSED("PostgreSQL paused", PostgresFaults::paused),
    COMMITS_WAIT("synchronous standby paused", PostgresFaults::commitsWait),
    LINK_FROZEN("link frozen", NetworkFaults::frozen),
    REPLIES_LOST("replies lost", NetworkFaults::repliesLost),
    SERVER_PAUSED("lock server paused", PauseFaults::paused),
    SERVER_PAUSED_AND_TRUNCATED(
            "lock server paused, tables truncated",
            context -> PauseFaults.pausedAndAllLost(context, PostgresFaults::truncated)),
    SERVERS_PAUSED_IN_TURN("lock servers paused in turn", PauseFaults::pausedInTurn);

    private final String description;

    @SuppressWarnings("ImmutableEnumChecker") // A method of ours, which keeps nothing.
    private final Consumer<FaultContext<PostgresNode>> injection;

    PostgresIncident(String description, Consumer<FaultContext<PostgresNode>> injection) {
        this.description = description;
        this.injection = injection;
    }

    @Override
    public void inject(FaultContext<PostgresNode> context) {
        injection.accept(context);
    }

    /** A lock server cannot detect that its primary was replaced if the successor is unreachable. */
    @Override
    public boolean isExcluded() {
        return this == SPLIT_BRAIN_APART;
    }

    @Override
    public String toString() {
        return description;
    }
}
