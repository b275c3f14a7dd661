package dev.palisade.server.store.postgresql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.EventLog;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.Past;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.FencedLog;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a PostgreSQL has to be like, so that a log is kept in it. */
class PostgresStartTest {
    private static final Duration SHORT = Duration.ofMillis(400);

    private final Databases logs = new Databases(1_800_000_000_000L);

    @AfterEach
    void close() {
        logs.close();
    }

    @Test
    void commitsAreWaitedForWhateverTheRoleSays() throws Exception {
        logs.ask(
                "CREATE ROLE hasty LOGIN SUPERUSER; ALTER ROLE hasty SET synchronous_commit = off;"
                        + "ALTER ROLE hasty SET default_transaction_isolation = serializable;"
                        + "ALTER ROLE hasty SET default_transaction_read_only = on; ALTER ROLE hasty SET statement_timeout = 10000");
        try (PostgresSession session = PostgresSession.open(
                Databases.config(logs.uri("hasty"), "a:1", true, SHORT), LogSql.OF_POSTGRESQL, EventLog.NONE)) {
            assertThat(shown(session, "synchronous_commit")).isEqualTo("on");
            assertThat(shown(session, "transaction_isolation")).isEqualTo("read committed");
            assertThat(shown(session, "transaction_read_only")).isEqualTo("off");
            assertThat(shown(session, "statement_timeout")).isEqualTo("0");
            assertThat(shown(session, "lock_timeout")).isEqualTo("300ms");
        } finally {
            logs.ask("DROP OWNED BY hasty; DROP ROLE hasty");
        }
    }

    private static String shown(PostgresSession session, String setting) throws Exception {
        try (PreparedStatement shows = session.prepare("SHOW " + setting);
                ResultSet row = shows.executeQuery()) {
            row.next();
            return row.getString(1);
        }
    }

    @Test
    void aUserWhoMayNotCreateTheTablesNeedsThemAndRightsOnThem() throws Exception {
        logs.ask(
                "REVOKE CREATE ON SCHEMA public FROM PUBLIC; CREATE ROLE poor LOGIN; GRANT SELECT ON test_clock TO poor");
        try {
            assertUnusable("poor", "has no tables for the log, and they cannot be created (permission denied");
            logs.open("a:1").close();
            assertUnusable("poor", "does not let this user do SELECT on palisade_log, INSERT on palisade_log");
            logs.ask("GRANT SELECT, INSERT, UPDATE ON palisade_log TO poor;"
                    + "GRANT SELECT, INSERT, UPDATE, DELETE ON palisade_log_batch, palisade_log_standby TO poor");
            logs.open(logs.uri("poor"), "b:1", true, SHORT).close();
        } finally {
            logs.ask("DROP OWNED BY poor; DROP ROLE poor");
        }
    }

    private void assertUnusable(String user, String says) {
        assertThatThrownBy(() -> logs.open(logs.uri(user), "a:1", true, SHORT))
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining(says);
    }

    @Test
    void tablesOfSomethingElseAreRefused() {
        logs.ask("CREATE TABLE palisade_log (log text, name text)");
        assertUnusable("postgres", "has tables that are not those of a log");
    }

    @Test
    void aLogOfAnotherReleaseIsRefused() throws Exception {
        logs.open("a:1").close();
        logs.ask("UPDATE palisade_log SET format = 2");
        assertUnusable("postgres", "has log p of another release (format 2, not 1)");
    }

    @Test
    void tableOfAnEarlierReleaseGetsTheNewColumns() throws Exception {
        logs.open("a:1").close();
        logs.ask("ALTER TABLE palisade_log DROP COLUMN key_id, DROP COLUMN settings; CREATE ROLE poor LOGIN;"
                + "GRANT SELECT ON test_clock TO poor; GRANT SELECT, INSERT, UPDATE ON palisade_log TO poor;"
                + "GRANT SELECT, INSERT, UPDATE, DELETE ON palisade_log_batch, palisade_log_standby TO poor");
        try {
            assertUnusable(
                    "poor",
                    "has a table of an earlier release, and this user cannot change it (must be owner of table"
                            + " palisade_log); run as its owner: ALTER TABLE palisade_log ADD COLUMN IF NOT EXISTS key_id");
            try (FencedLog log = logs.open("a:1")) {
                assertThat(log.claim(Past.NONE)).isInstanceOf(ClaimReply.Claimed.class);
            }
            logs.open(logs.uri("poor"), "b:1", true, SHORT).close();
        } finally {
            logs.ask("DROP OWNED BY poor; DROP ROLE poor");
        }
    }

    @Test
    void aServerThatIsNotThereIsNamed() {
        assertThatThrownBy(() -> logs.open(logs.uri("postgres", 1), "a:1", true, SHORT))
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("PostgreSQL postgresql://127.0.0.1:1/log")
                .hasMessageContaining("refused");
    }

    @Test
    void aPoolerIsRefused() throws Exception {
        try (PoolerLikeProxy pooler = new PoolerLikeProxy(logs.port())) {
            assertThatThrownBy(() -> logs.open(logs.uri("postgres", pooler.port()), "a:1", true, SHORT))
                    .isInstanceOf(StoreUnusable.class)
                    .hasMessageContaining("is reached through a pooler");
        }
    }

    @Test
    void aServerWaitsForAnotherThatCreatesTheTables() throws Exception {
        logs.ask("BEGIN; CREATE TABLE palisade_log (log text)");
        CompletableFuture<StoreUnusable> refused = CompletableFuture.supplyAsync(() ->
                catchThrowableOfType(StoreUnusable.class, () -> logs.open("a:1").close()));
        await().until(() -> logs.ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
                .equals("1"));
        logs.ask("ROLLBACK");
        assertThat(refused.join()).isNull();
    }

    @Test
    void ofSeveralServersEachSaysWhyItIsNotThePrimary() {
        String uri = logs.uri("postgres")
                .replace("@127.0.0.1:", "@127.0.0.1:1,127.0.0.1:")
                .replace("/log", "/none");
        assertThatThrownBy(() -> logs.open(uri, "a:1", true, SHORT))
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("127.0.0.1:1: Connection to 127.0.0.1:1 refused")
                .hasMessageContaining("127.0.0.1:" + logs.port() + ": database \"none");
    }

    /** Neither the start nor a takeover waits for it. */
    @Test
    void aServerThatDoesNotReplyTakesOnlyAPartOfTheClaim() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            String uri =
                    logs.uri("postgres").replace("@127.0.0.1:", "@127.0.0.1:" + silent.getLocalPort() + ",127.0.0.1:");
            long began = System.nanoTime();
            try (FencedLog log = logs.open(uri, "a:1", true, Duration.ofSeconds(20))) {
                assertThat(log.claim(Past.NONE)).isInstanceOf(ClaimReply.Claimed.class);
            }
            assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofSeconds(10));
        }
    }
}
