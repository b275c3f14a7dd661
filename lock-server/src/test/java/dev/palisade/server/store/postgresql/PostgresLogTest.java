package dev.palisade.server.store.postgresql;

import static dev.palisade.server.store.postgresql.Databases.read;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.palisade.contract.EventLog;
import dev.palisade.server.ownership.AppendFailure;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.ClaimReply.Claimed;
import dev.palisade.server.ownership.Past;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.FencedLog;
import dev.palisade.server.store.log.LogFailure;
import dev.palisade.server.store.log.SharedLogs;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the log in PostgreSQL does beside what every log does. */
class PostgresLogTest {
    private static final Duration SHORT = Duration.ofMillis(400);

    private final Databases logs = new Databases(1_800_000_000_000L);
    private final List<FencedLog> opened = new ArrayList<>();
    private FencedLog log;
    private Claimed claimed;

    private FencedLog open(String address) throws StoreUnusable {
        FencedLog one = logs.open(logs.uri("postgres"), address, true, SHORT);
        opened.add(one);
        return one;
    }

    /** One owns a log with one batch. */
    @BeforeEach
    void own() throws Exception {
        log = open("a:1");
        claimed = (Claimed) log.claim(Past.NONE);
        read(log);
        log.add(bytes("one"));
        log.sync(64);
    }

    @AfterEach
    void close() {
        opened.forEach(FencedLog::close);
        logs.close();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private Past past(long confirmed) {
        return new Past(1, true, new Position(claimed.writer(), confirmed), Position.NONE, List.of());
    }

    /** Until somebody else than the best candidate gets a log that lost data. */
    private static Claimed afterSettling(Databases logs, FencedLog by, Past past) throws LogFailure {
        assertThat(by.claim(past)).isInstanceOf(ClaimReply.Settling.class);
        logs.pass(2 * SharedLogs.SETTLE_MILLIS);
        return (Claimed) by.claim(past);
    }

    // ---- appends that do not fit

    @ParameterizedTest
    @ValueSource(
            strings = {
                "writer = '00000000000000000000000000000009'",
                "seq = seq + 1",
                "seq = seq - 1",
                "tokens = tokens + 1",
                "tokens = tokens - 1",
                "instance = instance || 'x'"
            })
    void aBatchIsStoredOnlyWhereTheOwnerLeftTheLog(String change) throws Exception {
        logs.ask("UPDATE palisade_log SET written_by = pg_current_xact_id(), " + change);
        assertRefusesNextBatch();
    }

    @Test
    void aRowThatSomebodyPutBackIsNotTheLogAnyMore() throws Exception {
        logs.ask("CREATE TABLE copy AS SELECT * FROM palisade_log");
        log.sync(64);
        logs.ask("DELETE FROM palisade_log; INSERT INTO palisade_log SELECT * FROM copy");
        assertRefusesNextBatch();
        FencedLog next = open("b:1");
        logs.pass(SharedLogs.CLAIM_MILLIS);
        Claimed found = afterSettling(logs, next, Past.NONE);
        assertThat(found.whole()).isFalse();
        assertThat(found.recoveringUntilMillis()).isPositive();
    }

    @Test
    void aRestartedPostgresStoresNothingForTheFormerClaim() throws Exception {
        logs.restart();
        assertRefusesNextBatch();
        Claimed again = afterSettling(logs, log, past(1));
        assertThat(again.mine()).isTrue();
        assertThat(again.whole()).isFalse();
        log.sync(64);
    }

    /** The loss is noticed when the log has settled for its restart, which counts. */
    @Test
    void logThatLostBatchesBeforeARestartIsGranted() throws Exception {
        logs.ask("DELETE FROM palisade_log_batch");
        logs.restart();
        FencedLog next = open("b:1");
        logs.pass(SharedLogs.CLAIM_MILLIS);
        Claimed found = afterSettling(logs, next, Past.NONE);
        assertThat(found.whole()).isFalse();
        assertThat(found.position()).isEqualTo(Position.NONE);
    }

    private void assertRefusesNextBatch() {
        log.add(bytes("two"));
        LogFailure failure = catchThrowableOfType(LogFailure.class, () -> log.sync(96));
        assertThat(failure.kind()).isEqualTo(AppendFailure.UNKNOWN);
        assertThat(failure).hasMessageContaining("did not store a batch");
        assertThat(logs.ask("SELECT count(*) FROM palisade_log_batch")).isEqualTo("1");
        assertThat(logs.ask("SELECT tokens FROM palisade_log")).isNotEqualTo("96");
    }

    @Test
    void eventOfATakeoverNamesItsCauseAndTheFormerServer() throws Exception {
        FencedLog other = open("b:1");
        logs.pass(SharedLogs.CLAIM_MILLIS);
        assertThat(other.claim(Past.NONE)).isInstanceOf(Claimed.class);
        assertThat(logs.events)
                .filteredOn(line -> line.contains("event=log_claimed"))
                .extracting(line -> line.replaceFirst(".*recovering_ms=0 ", ""))
                .containsExactly("why=STARTED", "why=CLAIM_RAN_OUT from=a:1");
    }

    // ---- failures

    @Test
    void afterABrokenConnectionTheSameBatchIsStored() throws Exception {
        log.add(bytes("two"));
        logs.cut();
        assertThat(catchThrowableOfType(LogFailure.class, () -> log.sync(96)).kind())
                .isEqualTo(AppendFailure.UNKNOWN);
        Claimed again = (Claimed) log.claim(past(1));
        assertThat(again.mine()).isTrue();
        assertThat(again.whole()).isTrue();
        log.sync(96);
        assertThat(read(log)).containsExactly("one", "two");
        assertThat(logs.events)
                .filteredOn(line -> line.contains("event=store_"))
                .extracting(line -> line.replaceFirst(".*event=(\\w+).*", "$1"))
                .containsExactly("store_linked", "store_lost", "store_linked");
    }

    @ParameterizedTest
    @CsvSource({"53100, no space left on device", "42501, permission denied", "25006, read-only"})
    void aDefiniteRefusalLeavesTheBatchToBeSentAgain(String state, String message) throws Exception {
        raise("EXCEPTION '" + message + "' USING ERRCODE = '" + state + "'");
        log.add(bytes("two"));
        LogFailure failure = catchThrowableOfType(LogFailure.class, () -> log.sync(96));
        assertThat(failure.kind()).isEqualTo(AppendFailure.REFUSED);
        assertThat(failure).hasMessage("PostgreSQL " + PostgresUri.parse(logs.uri("postgres")) + ": " + message);
        logs.ask("DROP TRIGGER trouble ON palisade_log");
        log.sync(96);
        assertThat(read(log)).containsExactly("one", "two");
    }

    /** Such as that transaction ids become scarce. */
    @Test
    void aWarningIsNoFailure() throws Exception {
        raise("WARNING 'must be vacuumed'");
        log.add(bytes("two"));
        log.sync(96);
        assertThat(read(log)).containsExactly("one", "two");
    }

    @Test
    void aTableThatIsOnlyForPeopleMayBeGone() throws Exception {
        logs.ask("DROP TABLE palisade_log_standby");
        FencedLog next = open("b:1");
        logs.ask("DROP TABLE palisade_log_standby"); // It was made again.
        assertThat(next.claim(Past.NONE)).isInstanceOf(ClaimReply.Held.class);
        logs.pass(SharedLogs.CLAIM_MILLIS);
        assertThat(next.claim(Past.NONE)).isInstanceOf(Claimed.class);
    }

    @Test
    void aTableThatIsOnlyForPeopleMayBeLocked() throws Exception {
        FencedLog next = open("b:1");
        String lock = "BEGIN; LOCK TABLE palisade_log_standby IN SHARE MODE";
        logs.ask(lock);
        assertThat(next.claim(Past.NONE)).isInstanceOf(ClaimReply.Held.class);
        logs.ask("COMMIT");
        logs.pass(SharedLogs.CLAIM_MILLIS);
        logs.ask(lock);
        assertThat(next.claim(Past.NONE)).isInstanceOf(Claimed.class);
        logs.ask("COMMIT");
    }

    @Test
    void tablesThatAreGoneAreMadeAgain() throws Exception {
        logs.ask("DROP TABLE palisade_log");
        assertThat(catchThrowableOfType(LogFailure.class, () -> log.sync(96))).isNotNull();
        assertThat(catchThrowableOfType(LogFailure.class, () -> log.claim(past(1))))
                .hasMessageContaining("has tables that are not those of a log");
        assertThat(afterSettling(logs, log, past(1)).mine()).isTrue();
    }

    private void raise(String what) {
        logs.ask("CREATE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE " + what
                + "; RETURN NEW; END $$; CREATE TRIGGER trouble BEFORE UPDATE ON palisade_log FOR EACH ROW"
                + " EXECUTE FUNCTION trouble()");
    }

    @Test
    void aRowThatSomebodyHasLockedIsWaitedForNoLongerThanTheTimeout() throws Exception {
        logs.ask("BEGIN; SELECT * FROM palisade_log FOR UPDATE");
        LogFailure failure = catchThrowableOfType(LogFailure.class, () -> log.sync(96));
        assertThat(failure.kind()).isEqualTo(AppendFailure.REFUSED);
        assertThat(failure).hasMessageContaining("lock timeout");
        logs.ask("COMMIT");
        log.sync(96);
    }

    @Test
    void aBatchThatIsNoneIsNamed() throws Exception {
        logs.ask("UPDATE palisade_log_batch SET body = '\\xff'");
        assertThatThrownBy(() -> read(log))
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("row 1 of generation 1 in palisade_log_batch that is no batch of records");
    }

    @Test
    void aCountThatNoTokenReachesCannotBeWritten() throws Exception {
        assertThatThrownBy(() -> logs.ask("UPDATE palisade_log SET tokens = 9007199254740991"))
                .hasMessageContaining("palisade_log_tokens_check");
    }

    @Test
    void twoLogsInOneDatabaseAreApart() throws Exception {
        FencedLog other = PostgresLog.open(
                new PostgresLogConfig(
                        PostgresUri.parse(logs.uri("postgres")),
                        SHORT,
                        "other",
                        "b:1",
                        true,
                        SharedLogs.RECOVERY_MILLIS,
                        SharedLogs.CLAIM_MILLIS,
                        SharedLogs.SETTLE_MILLIS,
                        SharedLogs.settings("b:1")),
                SharedLogs.ANY_KEYS,
                new Random(2),
                EventLog.NONE);
        opened.add(other);
        assertThat(other.claim(Past.NONE)).isInstanceOf(Claimed.class);
        assertThat(read(other)).isEmpty();
        other.sync(0);
        log.sync(64);
    }
}
