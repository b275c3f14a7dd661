package dev.palisade.incidents;

import dev.palisade.faults.Link;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;

/** Methods that inject the failures of {@link PostgresIncident}. */
final class PostgresFaults {
    private static final int TERMINATIONS = 5;
    private static final List<String> HEADS = List.of("palisade_log", NaivePostgresIssuer.TABLE);
    private static final List<String> ROWS = List.of("palisade_log_batch", NaivePostgresIssuer.TABLE);
    private static final List<String> ALL =
            List.of("palisade_log", "palisade_log_batch", "palisade_log_standby", NaivePostgresIssuer.TABLE);

    private PostgresFaults() {}

    static void killed(FaultContext<PostgresNode> context) {
        PostgresNode primary = context.primary();
        context.note("kill -9 of " + primary);
        primary.kill9();
        restart(context, primary);
    }

    static void restarted(FaultContext<PostgresNode> context) {
        PostgresNode primary = context.primary();
        context.note("fast shutdown of " + primary);
        primary.stop();
        restart(context, primary);
    }

    /** By the dice with new applications, which know no token. */
    private static void restart(FaultContext<PostgresNode> context, PostgresNode primary) {
        context.restartApps(context.dice().nextBoolean(), primary::restart);
    }

    static void backendsTerminated(FaultContext<PostgresNode> context) {
        for (int i = 0; i < TERMINATIONS; i++) {
            context.note(context.primary()
                            .ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                                    + " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
                    + " sessions are terminated");
            context.tokens(5);
        }
    }

    static void synchronousStandby(FaultContext<PostgresNode> context) {
        PostgresNode former = context.primary();
        PostgresNode next = context.replica();
        PostgresTopology.synchronize(former);
        context.tokens(context.between(5, 40));
        context.note("kill -9 of " + former + ", whose commits waited for " + next);
        former.kill9();
        context.failOver(next, context.dice().nextBoolean());
    }

    /**
     * A lagging standby is promoted; the near application stays at the old primary until the new one is announced to
     * it.
     */
    static void splitBrain(FaultContext<PostgresNode> context) {
        splitBrain(context, false);
    }

    /** The near application cannot reach the successor: its lock server may take over at the replaced primary. */
    static void splitBrainApart(FaultContext<PostgresNode> context) {
        splitBrain(context, true);
    }

    private static void splitBrain(FaultContext<PostgresNode> context, boolean apart) {
        PostgresNode former = context.primary();
        PostgresNode next = context.replica();
        context.topology().lag(next, context.dice().nextBoolean());
        context.tokens(context.between(5, 40));
        context.note("promoting " + next + "; " + former + " lives, and the near side stays there"
                + (apart ? ", cut off from " + next : ""));
        if (apart) {
            stopFollowing(context.near().link(next));
        }
        context.topology().promote(next);
        stopFollowing(context.far().link(former));
        context.far().issuer().follow(next);
        context.tokensAt(former, context.between(5, 20));
        context.tokensAt(next, context.between(5, 20));
        if (context.dice().nextBoolean()) {
            context.note("the near side starts anew");
            context.near().stop();
            context.near().start();
            context.tokensAt(apart ? former : next, 10);
        }
        context.tokens(context.between(10, 30));
        context.note("the new primary is announced to the near side; " + former + " is rebuilt as a standby");
        context.near().link(next).refuse(false);
        context.near().issuer().follow(next);
        context.topology().follow(former, next);
    }

    private static void stopFollowing(Link link) {
        link.refuse(true);
        link.cut();
    }

    static void backToTheFormer(FaultContext<PostgresNode> context) {
        PostgresNode former = context.primary();
        PostgresNode next = context.replica();
        context.failOver(next, false); // Rebuilds the former one as a standby.
        context.tokensAt(next, context.between(5, 40));
        if (context.dice().nextBoolean()) {
            context.topology().lag(former, context.dice().nextBoolean());
            context.tokens(context.between(1, 20));
        }
        context.failOver(former, context.dice().nextBoolean());
    }

    static void backupRestored(FaultContext<PostgresNode> context) {
        PostgresNode primary = context.primary();
        DataDirectory.copy(primary, primary.backup());
        context.tokens(context.between(10, 50));
        context.note("an older backup is restored at " + primary + ", and its standby is removed");
        for (PostgresNode standby : context.topology().replicas()) {
            standby.stopAtOnce();
        }
        primary.stop();
        DataDirectory.replace(primary.data(), primary.backup());
        restart(context, primary);
    }

    /** Only a takeover counts them, so by the dice there is one. */
    static void batchesDeleted(FaultContext<PostgresNode> context) {
        boolean some = context.dice().nextBoolean();
        context.note(some ? "every second row is deleted" : "all rows are deleted");
        for (String table : present(context.primary(), ROWS)) {
            context.primary()
                    .ask("DELETE FROM " + table
                            + (some ? " WHERE ctid IN (SELECT ctid FROM " + table + " WHERE random() < 0.5)" : ""));
        }
        context.tokens(5);
        if (context.dice().nextBoolean()) {
            PauseFaults.paused(context);
        }
    }

    static void rowDeleted(FaultContext<PostgresNode> context) {
        for (String table : present(context.primary(), HEADS)) {
            context.note("the row of " + table + " is deleted");
            context.primary().ask("DELETE FROM " + table);
        }
    }

    static void rowPutBack(FaultContext<PostgresNode> context) {
        PostgresNode primary = context.primary();
        List<String> tables = present(primary, HEADS);
        tables.forEach(table -> primary.ask("CREATE TABLE kept_" + table + " AS TABLE " + table));
        context.tokens(context.between(1, 40));
        for (String table : tables) {
            context.note("the row of " + table + " is put back to an earlier state");
            primary.ask("DELETE FROM " + table + "; INSERT INTO " + table + " TABLE kept_" + table
                    + "; DROP TABLE kept_" + table);
        }
        if (context.dice().nextBoolean()) {
            backendsTerminated(context);
        }
    }

    static void truncated(FaultContext<PostgresNode> context) {
        String tables = String.join(", ", present(context.primary(), ALL));
        context.note("TRUNCATE " + tables);
        context.primary().ask("TRUNCATE " + tables);
    }

    static void dropped(FaultContext<PostgresNode> context) {
        String tables = String.join(", ", present(context.primary(), ALL));
        context.note("DROP TABLE " + tables);
        context.primary().ask("DROP TABLE " + tables);
    }

    private static List<String> present(PostgresNode node, List<String> tables) {
        return tables.stream()
                .filter(table -> node.ask("SELECT to_regclass('" + table + "')").equals(table))
                .toList();
    }

    /** By a session that is open in the database for some seconds. */
    static void rowLocked(FaultContext<PostgresNode> context) {
        try (Connection connection = context.primary().connect(20);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            for (String table : present(context.primary(), HEADS)) {
                context.note("another session locks the rows of " + table);
                statement.execute("SELECT 1 FROM " + table + " FOR UPDATE");
            }
            NetworkFaults.sleep(Duration.ofMillis(context.between(500, 4_000)));
            connection.rollback();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    static void paused(FaultContext<PostgresNode> context) {
        context.note(context.primary() + " is stopped where it stands");
        context.primary().freeze();
        NetworkFaults.sleep(Duration.ofMillis(context.between(500, 4_000)));
        context.primary().thaw();
    }

    /** Commits wait until the standby continues, or an operator does without it. */
    static void commitsWait(FaultContext<PostgresNode> context) {
        PostgresNode primary = context.primary();
        PostgresTopology.synchronize(primary);
        context.tokens(5);
        context.note("the synchronous standby is stopped where it stands");
        context.replica().freeze();
        NetworkFaults.sleep(Duration.ofMillis(context.between(500, 4_000)));
        if (context.dice().nextBoolean()) {
            context.note("the primary does without a synchronous standby");
            primary.set("synchronous_standby_names", "");
            context.tokens(5);
        }
        context.replica().thaw();
    }
}
