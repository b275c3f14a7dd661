package dev.palisade.server.store.postgresql;

import static dev.palisade.server.store.postgresql.Databases.read;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.EventLog;
import dev.palisade.patience.PatientPostgres;
import dev.palisade.server.ownership.AppendFailure;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.ClaimReply.Claimed;
import dev.palisade.server.ownership.Past;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.FencedLog;
import dev.palisade.server.store.log.LogFailure;
import dev.palisade.server.store.log.SharedLogs;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A log in a real primary with a real streaming standby that is promoted. */
class PostgresFailoverTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(2);
    private static final long CLAIM_MILLIS = 300;
    private static final long SETTLE_MILLIS = 50;

    @TempDir
    Path directory;

    private EmbeddedPostgres primary;
    private EmbeddedPostgres standby;
    private final List<AutoCloseable> opened = new ArrayList<>();
    private final Queue<String> events = new ConcurrentLinkedQueue<>();
    private final Random random = new Random(3);

    @BeforeEach
    void replicate() throws Exception {
        Path ofPrimary = directory.resolve("primary");
        start(ofPrimary, 0).close();
        Path ofStandby = directory.resolve("standby");
        copy(ofPrimary, ofStandby);
        primary = start(ofPrimary, 0);
        opened.add(primary);
        Files.createFile(ofStandby.resolve("standby.signal"));
        Files.writeString(
                ofStandby.resolve("postgresql.auto.conf"),
                "primary_conninfo = 'host=127.0.0.1 user=postgres port=" + primary.getPort() + "'\n",
                StandardOpenOption.APPEND);
        standby = start(ofStandby, 0);
        opened.add(standby);
        await().until(() ->
                ask(primary, "SELECT count(*) FROM pg_stat_replication").equals("1"));
    }

    private static EmbeddedPostgres start(Path data, int port) throws IOException {
        return PatientPostgres.builder()
                .setDataDirectory(data)
                .setCleanDataDirectory(false)
                .setPort(port)
                .setServerConfig("fsync", "on")
                .setServerConfig("wal_level", "replica")
                .setServerConfig("max_wal_senders", "4")
                .setServerConfig("hot_standby", "on")
                .start();
    }

    private static void copy(Path from, Path to) throws IOException {
        try (var all = Files.walk(from)) {
            for (Path each : all.toList()) {
                Files.copy(each, to.resolve(from.relativize(each)), StandardCopyOption.COPY_ATTRIBUTES);
            }
        }
    }

    private static String ask(EmbeddedPostgres server, String sql) throws SQLException {
        try (var connection = server.getPostgresDatabase().getConnection();
                var statement = connection.createStatement()) {
            if (!statement.execute(sql)) {
                return "";
            }
            try (var rows = statement.getResultSet()) {
                return rows.next() ? String.valueOf(rows.getString(1)) : "";
            }
        }
    }

    @AfterEach
    void close() throws Exception {
        for (int i = opened.size() - 1; i >= 0; i--) {
            opened.get(i).close();
        }
    }

    private FencedLog open(String address, EmbeddedPostgres... servers) throws StoreUnusable {
        List<String> hosts = new ArrayList<>();
        for (EmbeddedPostgres each : servers) {
            hosts.add("127.0.0.1:" + each.getPort());
        }
        FencedLog log = PostgresLog.open(
                new PostgresLogConfig(
                        PostgresUri.parse("postgresql://postgres@" + String.join(",", hosts) + "/postgres"),
                        TIMEOUT,
                        "palisade",
                        address,
                        true,
                        10_000,
                        CLAIM_MILLIS,
                        SETTLE_MILLIS,
                        SharedLogs.settings(address)),
                SharedLogs.ANY_KEYS,
                random,
                new EventLog(events::add, events::add, System::nanoTime, 1_000));
        opened.add(log);
        return log;
    }

    private static Claimed claimed(FencedLog log, Past past) {
        ClaimReply[] last = new ClaimReply[1];
        await().until(() -> {
            try {
                last[0] = log.claim(past);
            } catch (LogFailure e) {
                return false;
            }
            return last[0] instanceof Claimed;
        });
        return (Claimed) last[0];
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void aPromotedStandbyThatLacksBatchesIsNotWhole() throws Exception {
        FencedLog log = open("a:1", primary, standby);
        Claimed first = claimed(log, Past.NONE);
        assertThat(first.whole()).isTrue();
        assertThat(events).anyMatch(line -> line.contains("commits wait for none of them"));
        read(log);
        log.add(bytes("one"));
        log.sync(32);
        await().until(() -> ask(standby, "SELECT tokens FROM palisade_log").equals("32"));
        ask(standby, "ALTER SYSTEM SET primary_conninfo = ''");
        ask(standby, "SELECT pg_reload_conf()");
        await().until(() ->
                ask(primary, "SELECT count(*) FROM pg_stat_replication").equals("0"));
        log.add(bytes("two"));
        log.sync(64);

        opened.remove(primary);
        primary.close();
        ask(standby, "SELECT pg_promote()");
        assertThat(catchThrowableOfType(LogFailure.class, () -> log.sync(64)).kind())
                .isEqualTo(AppendFailure.UNKNOWN);
        Past past = new Past(1, true, new Position(first.writer(), 2), Position.NONE, List.of());
        Claimed again = claimed(log, past);
        assertThat(again.mine()).as("the memory is ahead of it").isTrue();
        assertThat(again.whole()).isFalse();
        assertThat(again.position()).isEqualTo(new Position(first.writer(), 1));
        assertThat(again.tokens()).isEqualTo(32);

        FencedLog other = open("b:1", standby);
        Claimed taken = claimed(other, Past.NONE);
        assertThat(taken.mine()).isFalse();
        assertThat(taken.recoveringUntilMillis())
                .as("of a log that was not copied completely")
                .isPositive();
        assertThat(read(other)).containsExactly("one");
    }

    @Test
    void aReplacedPrimaryIsNotTakenOver() throws Exception {
        FencedLog late = open("late:1", primary, standby);
        FencedLog log = open("a:1", primary, standby);
        claimed(log, Past.NONE);
        read(log);
        log.sync(32);
        assertThat(late.claim(Past.NONE)).isInstanceOf(ClaimReply.Held.class);
        await().until(() -> ask(standby, "SELECT tokens FROM palisade_log").equals("32"));

        ask(standby, "SELECT pg_promote()");
        await().until(() -> ask(standby, "SELECT pg_is_in_recovery()").equals("f"));
        await().untilAsserted(() -> assertThatThrownBy(() -> late.claim(Past.NONE))
                .isInstanceOf(LogFailure.class)
                .hasMessageContaining("is not the primary any more: another server is on a later timeline"));
        assertThat(claimed(late, Past.NONE).whole()).isFalse();
        assertThat(ask(standby, "SELECT address FROM palisade_log")).isEqualTo("late:1");
    }

    /** Its successor may not reply for a moment, or have stopped. */
    @Test
    void aReplacedPrimaryIsNotTakenOverWhileItsSuccessorIsSilent() throws Exception {
        FencedLog late = open("late:1", primary, standby);
        ask(standby, "SELECT pg_promote()");
        await().until(() -> ask(standby, "SELECT pg_is_in_recovery()").equals("f"));
        await().untilAsserted(() -> assertThatThrownBy(() -> late.claim(Past.NONE))
                .isInstanceOf(LogFailure.class)
                .hasMessageContaining("another server is on a later timeline"));
        opened.remove(standby);
        standby.close();
        assertThatThrownBy(() -> late.claim(Past.NONE))
                .isInstanceOf(LogFailure.class)
                .hasMessageContaining("on an earlier timeline than a server that was seen before");
    }

    @Test
    void aCommitThatDidNotWaitForItsReplicaIsOfUnknownOutcome() throws Exception {
        FencedLog log = open("a:1", primary);
        claimed(log, Past.NONE);
        read(log);
        log.sync(32);
        ask(primary, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
        ask(primary, "SELECT pg_reload_conf()");
        CompletableFuture<LogFailure> failure = CompletableFuture.supplyAsync(() -> {
            while (true) {
                LogFailure one = catchThrowableOfType(LogFailure.class, () -> log.sync(64));
                if (one != null) {
                    return one;
                }
            }
        });
        await().until(() -> ask(
                        primary,
                        "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity"
                                + " WHERE wait_event = 'SyncRep' AND application_name LIKE 'palisade %'")
                .equals("1"));
        assertThat(failure.join().kind()).isEqualTo(AppendFailure.UNKNOWN);
        assertThat(failure.join()).hasMessageContaining("synchronous replication");
        assertThat(ask(primary, "SELECT tokens FROM palisade_log"))
                .as("it is there")
                .isEqualTo("64");
    }

    /** One that was started with another list of servers, or after the others became silent. */
    @Test
    void aServerThatSawTheLaterTimelineDoesNotGoBack() throws Exception {
        FencedLog log = open("a:1", primary, standby);
        ask(standby, "SELECT pg_promote()");
        await().until(() -> ask(standby, "SELECT pg_is_in_recovery()").equals("f"));
        FencedLog later = open("b:1", primary, standby);
        assertThat(events)
                .filteredOn(line -> line.contains("store_linked"))
                .last()
                .asString()
                .contains("00000002");
        opened.remove(standby);
        standby.close();
        LogFailure failure = catchThrowableOfType(LogFailure.class, () -> {
            while (true) {
                later.claim(Past.NONE);
            }
        });
        LogFailure next = catchThrowableOfType(LogFailure.class, () -> later.claim(Past.NONE));
        assertThat(List.of(failure.line(), next.line())).last().asString().contains("is on an earlier timeline");
        log.close();
    }

    @Test
    void aStandbyAloneIsRefused() {
        assertThatThrownBy(() -> open("a:1", standby))
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("is a standby; name the primary");
    }
}
