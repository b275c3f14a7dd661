package dev.palisade.incidents;

import dev.palisade.faults.Link;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;

/** Methods that inject the failures of {@link PostgresIncident}. */
final class PostgresFailures {
    private static final int TERMINATIONS = 5;
    private static final List<String> HEADS = List.of("palisade_log", NaivePostgresIssuer.TABLE);
    private static final List<String> ROWS = List.of("palisade_log_batch", NaivePostgresIssuer.TABLE);
    private static final List<String> ALL =
            List.of("palisade_log", "palisade_log_batch", "palisade_log_standby", NaivePostgresIssuer.TABLE);

    private PostgresFailures() {}

    static void killed(Scene<PostgresNode> scene) {
        PostgresNode primary = scene.primary();
        scene.note("kill -9 of " + primary);
        primary.kill9();
        comeBack(scene, primary);
    }

    static void restarted(Scene<PostgresNode> scene) {
        PostgresNode primary = scene.primary();
        scene.note("fast shutdown of " + primary);
        primary.stop();
        comeBack(scene, primary);
    }

    /** By the dice with new applications, which know no token. */
    private static void comeBack(Scene<PostgresNode> scene, PostgresNode primary) {
        scene.anew(scene.dice().nextBoolean(), primary::restart);
    }

    static void backendsTerminated(Scene<PostgresNode> scene) {
        for (int i = 0; i < TERMINATIONS; i++) {
            scene.note(scene.primary()
                            .ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                                    + " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
                    + " sessions are terminated");
            scene.tokens(5);
        }
    }

    static void synchronousStandby(Scene<PostgresNode> scene) {
        PostgresNode former = scene.primary();
        PostgresNode next = scene.replica();
        PostgresTopology.synchronize(former);
        scene.tokens(scene.between(5, 40));
        scene.note("kill -9 of " + former + ", whose commits waited for " + next);
        former.kill9();
        scene.failOver(next, scene.dice().nextBoolean());
    }

    /** A lagging standby is promoted; the near application stays at the old primary until the new one is announced to it. */
    static void splitBrain(Scene<PostgresNode> scene) {
        splitBrain(scene, false);
    }

    /** The near application cannot reach the successor: its lock server may take over at the replaced primary. */
    static void splitBrainApart(Scene<PostgresNode> scene) {
        splitBrain(scene, true);
    }

    private static void splitBrain(Scene<PostgresNode> scene, boolean apart) {
        PostgresNode former = scene.primary();
        PostgresNode next = scene.replica();
        scene.topology().lag(next, scene.dice().nextBoolean());
        scene.tokens(scene.between(5, 40));
        scene.note("promoting " + next + "; " + former + " lives, and the near side stays there"
                + (apart ? ", cut off from " + next : ""));
        if (apart) {
            cutOff(scene.near().link(next));
        }
        scene.topology().promote(next);
        cutOff(scene.far().link(former));
        scene.far().issuer().follow(next);
        scene.tokensAt(former, scene.between(5, 20));
        scene.tokensAt(next, scene.between(5, 20));
        if (scene.dice().nextBoolean()) {
            scene.note("the near side starts anew");
            scene.near().stop();
            scene.near().start();
            scene.tokensAt(apart ? former : next, 10);
        }
        scene.tokens(scene.between(10, 30));
        scene.note("the new primary is announced to the near side; " + former + " is rebuilt as a standby");
        scene.near().link(next).refuse(false);
        scene.near().issuer().follow(next);
        scene.topology().follow(former, next);
    }

    private static void cutOff(Link link) {
        link.refuse(true);
        link.cut();
    }

    static void backToTheFormer(Scene<PostgresNode> scene) {
        PostgresNode former = scene.primary();
        PostgresNode next = scene.replica();
        scene.failOver(next, false); // Rebuilds the former one as a standby.
        scene.tokensAt(next, scene.between(5, 40));
        if (scene.dice().nextBoolean()) {
            scene.topology().lag(former, scene.dice().nextBoolean());
            scene.tokens(scene.between(1, 20));
        }
        scene.failOver(former, scene.dice().nextBoolean());
    }

    static void backupRestored(Scene<PostgresNode> scene) {
        PostgresNode primary = scene.primary();
        DataDirectory.copy(primary, primary.backup());
        scene.tokens(scene.between(10, 50));
        scene.note("an older backup is restored at " + primary + ", and its standby is removed");
        for (PostgresNode standby : scene.topology().replicas()) {
            standby.stopAtOnce();
        }
        primary.stop();
        DataDirectory.replace(primary.data(), primary.backup());
        comeBack(scene, primary);
    }

    /** Only a takeover counts them, so by the dice there is one. */
    static void batchesDeleted(Scene<PostgresNode> scene) {
        boolean some = scene.dice().nextBoolean();
        scene.note(some ? "every second row is deleted" : "all rows are deleted");
        for (String table : present(scene.primary(), ROWS)) {
            scene.primary()
                    .ask("DELETE FROM " + table
                            + (some ? " WHERE ctid IN (SELECT ctid FROM " + table + " WHERE random() < 0.5)" : ""));
        }
        scene.tokens(5);
        if (scene.dice().nextBoolean()) {
            Pauses.paused(scene);
        }
    }

    static void rowDeleted(Scene<PostgresNode> scene) {
        for (String table : present(scene.primary(), HEADS)) {
            scene.note("the row of " + table + " is deleted");
            scene.primary().ask("DELETE FROM " + table);
        }
    }

    static void rowPutBack(Scene<PostgresNode> scene) {
        PostgresNode primary = scene.primary();
        List<String> tables = present(primary, HEADS);
        tables.forEach(table -> primary.ask("CREATE TABLE kept_" + table + " AS TABLE " + table));
        scene.tokens(scene.between(1, 40));
        for (String table : tables) {
            scene.note("the row of " + table + " is put back to an earlier state");
            primary.ask("DELETE FROM " + table + "; INSERT INTO " + table + " TABLE kept_" + table
                    + "; DROP TABLE kept_" + table);
        }
        if (scene.dice().nextBoolean()) {
            backendsTerminated(scene);
        }
    }

    static void truncated(Scene<PostgresNode> scene) {
        String tables = String.join(", ", present(scene.primary(), ALL));
        scene.note("TRUNCATE " + tables);
        scene.primary().ask("TRUNCATE " + tables);
    }

    static void dropped(Scene<PostgresNode> scene) {
        String tables = String.join(", ", present(scene.primary(), ALL));
        scene.note("DROP TABLE " + tables);
        scene.primary().ask("DROP TABLE " + tables);
    }

    private static List<String> present(PostgresNode node, List<String> tables) {
        return tables.stream()
                .filter(table -> node.ask("SELECT to_regclass('" + table + "')").equals(table))
                .toList();
    }

    /** By a session that is open in the database for some seconds. */
    static void rowLocked(Scene<PostgresNode> scene) {
        try (Connection connection = scene.primary().connect(20);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            for (String table : present(scene.primary(), HEADS)) {
                scene.note("another session locks the rows of " + table);
                statement.execute("SELECT 1 FROM " + table + " FOR UPDATE");
            }
            Networks.pass(Duration.ofMillis(scene.between(500, 4_000)));
            connection.rollback();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    static void paused(Scene<PostgresNode> scene) {
        scene.note(scene.primary() + " is stopped where it stands");
        scene.primary().freeze();
        Networks.pass(Duration.ofMillis(scene.between(500, 4_000)));
        scene.primary().thaw();
    }

    /** Commits wait until the standby continues, or an operator does without it. */
    static void commitsWait(Scene<PostgresNode> scene) {
        PostgresNode primary = scene.primary();
        PostgresTopology.synchronize(primary);
        scene.tokens(5);
        scene.note("the synchronous standby is stopped where it stands");
        scene.replica().freeze();
        Networks.pass(Duration.ofMillis(scene.between(500, 4_000)));
        if (scene.dice().nextBoolean()) {
            scene.note("the primary does without a synchronous standby");
            primary.set("synchronous_standby_names", "");
            scene.tokens(5);
        }
        scene.replica().thaw();
    }
}
