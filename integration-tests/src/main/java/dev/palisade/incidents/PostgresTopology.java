package dev.palisade.incidents;

import java.time.Duration;
import java.util.List;

/** A primary of PostgreSQL and one streaming standby, promoted as an operator would. */
final class PostgresTopology extends Topology<PostgresNode> {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final Duration STREAMING_SOON = Duration.ofSeconds(5);

    PostgresTopology() {
        super(List.of(new PostgresNode("n1"), new PostgresNode("n2")));
        primary().create();
        heal();
    }

    @Override
    void promote(PostgresNode next) {
        changePrimary(next, () -> {
            // Does not wait there: replay may wait for the snapshot of a session that waits for the promotion.
            next.ask("SELECT pg_promote(false)");
            Polling.until(next + " is promoted", TIMEOUT, () -> !next.isStandby());
        });
    }

    @Override
    void awaitCaughtUp(PostgresNode replica) {
        String written = primary().ask("SELECT pg_current_wal_lsn()");
        Polling.until(
                replica + " has all",
                TIMEOUT,
                () -> replica.ask("SELECT pg_last_wal_replay_lsn() >= '" + written + "'")
                        .equals("t"));
    }

    /** Commits at the primary wait for the standby, from when this returns until the primary's next repair. */
    static void synchronize(PostgresNode primary) {
        primary.set("synchronous_standby_names", "*");
        Polling.until(
                "the standby of " + primary + " is synchronous",
                TIMEOUT,
                () -> primary.ask("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")
                        .equals("1"));
    }

    /** Rebuilds {@code replica} from a base backup of {@code primary}; whatever it had is gone. */
    @Override
    void follow(PostgresNode replica, PostgresNode primary) {
        replica.stopAtOnce();
        DataDirectory.copy(primary, replica.backup());
        DataDirectory.replace(replica.data(), replica.backup());
        DataDirectory.follow(replica.data(), link(replica, primary).address());
        replica.restart();
        Polling.until(replica + " follows", TIMEOUT, () -> streams(primary));
    }

    private static boolean streams(PostgresNode primary) {
        return primary.ask("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")
                .equals("1");
    }

    @Override
    void heal() {
        healLinks();
        PostgresNode primary = primary();
        for (PostgresNode node : nodes()) {
            if (node.isAlive()) {
                node.thaw();
            }
        }
        if (!primary.isAlive()) {
            primary.restart();
        }
        primary.set("synchronous_standby_names", "");
        for (PostgresNode standby : replicas()) {
            boolean follows = standby.isStandby() && Polling.within(STREAMING_SOON, () -> streams(primary));
            if (!follows) {
                follow(standby, primary);
            }
            awaitCaughtUp(standby);
        }
    }
}
