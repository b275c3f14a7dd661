package dev.palisade.server.store.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.palisade.server.ownership.AppendFailure;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.ClaimReply.Claimed;
import dev.palisade.server.ownership.ClaimReply.Held;
import dev.palisade.server.ownership.ClaimReply.Settling;
import dev.palisade.server.ownership.Past;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.embedded.Journals;
import dev.palisade.server.store.postgresql.Databases;
import dev.palisade.server.store.redis.RedisLogs;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** What every log of records does, whatever it is made of. */
class FencedLogContractTest {
    private static final long START = 1_800_000_000_000L;

    @TempDir
    Path directory;

    private final List<AutoCloseable> opened = new ArrayList<>();
    private final AtomicLong millis = new AtomicLong(START);
    private final MemoryLogServer memory = new MemoryLogServer(millis);
    private final List<MemoryStorage> clients = new ArrayList<>();
    private @Nullable RedisLogs redis;
    private @Nullable Databases postgres;

    enum Kind {
        MEMORY,
        FILES,
        REDIS,
        POSTGRESQL
    }

    private FencedLog open(Kind kind, String address) throws Exception {
        return open(kind, address, SharedLogs.ANY_KEYS);
    }

    private FencedLog open(Kind kind, String address, SigningKeys keys) throws Exception {
        FencedLog log = switch (kind) {
            case MEMORY -> {
                MemoryStorage client = new MemoryStorage(memory);
                clients.add(client);
                yield client.log(address, true, SharedLogs.RECOVERY_MILLIS, keys);
            }
            case FILES -> Journals.open(directory);
            case REDIS -> {
                RedisLogs started = redis;
                if (started == null) {
                    started = new RedisLogs(START);
                    opened.add(started);
                    redis = started;
                }
                yield started.open(address, keys);
            }
            case POSTGRESQL -> {
                Databases created = postgres;
                if (created == null) {
                    created = new Databases(START);
                    opened.add(created);
                    postgres = created;
                }
                yield created.open(address, keys);
            }
        };
        opened.add(log);
        return log;
    }

    /** As its owner, with all records read. */
    private FencedLog owned(Kind kind, String address) throws Exception {
        FencedLog log = open(kind, address);
        assertThat(log.claim(Past.NONE)).isInstanceOf(Claimed.class);
        assertThat(records(log)).isEmpty();
        log.sync(0);
        return log;
    }

    private FencedLog again(Kind kind, FencedLog before) throws Exception {
        before.endClaim();
        before.close();
        opened.remove(before);
        FencedLog log = open(kind, "b:1");
        assertThat(log.claim(Past.NONE)).isInstanceOf(Claimed.class);
        return log;
    }

    @AfterEach
    void close() throws Exception {
        for (int i = opened.size() - 1; i >= 0; i--) {
            opened.get(i).close();
        }
    }

    private void pass(long more) {
        millis.addAndGet(more);
        RedisLogs started = redis;
        if (started != null) {
            started.pass(more);
        }
        Databases created = postgres;
        if (created != null) {
            created.pass(more);
        }
    }

    private static byte[] body(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** By id, the parts in the order in which they came. */
    private static Map<Long, List<String>> records(FencedLog log) throws Exception {
        Map<Long, List<String>> records = new TreeMap<>();
        log.load(new FencedLog.Loader() {
            @Override
            public void record(long id, int index, ByteBuffer body) {
                List<String> parts = records.computeIfAbsent(id, fresh -> new ArrayList<>());
                assertThat(parts).hasSize(index);
                parts.add(StandardCharsets.UTF_8.decode(body).toString());
            }

            @Override
            public void deleted(long id) {
                records.remove(id);
            }
        });
        return records;
    }

    @ParameterizedTest
    @EnumSource
    void whatWasSyncedIsReadAgain(Kind kind) throws Exception {
        FencedLog log = owned(kind, "a:1");
        List<Long> ids = new ArrayList<>();
        for (int i = 0; i < 600; i++) {
            ids.add(log.add(body("r" + i)));
        }
        assertThat(ids).doesNotContain(0L).isSorted().doesNotHaveDuplicates();
        log.sync(0);
        for (int index = 1; index <= 12; index++) {
            log.update(ids.get(3), index, body("u" + index));
        }
        log.update(ids.get(4), 1, body(""));
        log.sync(0);
        for (int i = 5; i < 600; i++) {
            log.delete(ids.get(i));
        }
        log.sync(0);
        FencedLog next = again(kind, log);
        Map<Long, List<String>> records = records(next);
        assertThat(records).containsOnlyKeys(ids.subList(0, 5));
        assertThat(records.get(ids.get(3)))
                .hasSize(13)
                .startsWith("r3", "u1", "u2")
                .endsWith("u12");
        assertThat(records.get(ids.get(4))).containsExactly("r4", "");
        next.sync(0);
        assertThat(next.add(body("later"))).isGreaterThan(ids.get(4));
    }

    @ParameterizedTest
    @EnumSource
    void aDeletedRecordLeavesNothingBehind(Kind kind) throws Exception {
        FencedLog log = owned(kind, "a:1");
        long old = log.add(body("old"));
        log.update(old, 1, body("u"));
        log.sync(0);
        log.update(old, 2, body("in the same batch"));
        log.delete(old);
        long brief = log.add(body("brief"));
        log.delete(brief);
        log.sync(0);
        assertThat(records(again(kind, log))).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void anEmptyBatchIsSynced(Kind kind) throws Exception {
        FencedLog log = owned(kind, "a:1");
        log.sync(0);
        log.sync(0);
        assertThat(records(again(kind, log))).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(names = {"MEMORY", "REDIS", "POSTGRESQL"})
    void onlyOneOwnsASharedLog(Kind kind) throws Exception {
        FencedLog a = owned(kind, "a:1");
        long kept = a.add(body("kept"));
        a.sync(64);
        FencedLog b = open(kind, "b:1");
        assertThat(b.claim(Past.NONE)).isInstanceOfSatisfying(Held.class, held -> {
            assertThat(held.address()).isEqualTo("a:1");
            assertThat(held.remainingMillis()).isEqualTo(2_000);
        });
        pass(2_000);
        Claimed claimed = (Claimed) b.claim(Past.NONE);
        assertThat(claimed.whole()).isTrue();
        assertThat(claimed.tokens()).isEqualTo(64);
        assertThat(claimed.nowMillis()).isEqualTo(START + 2_000);
        a.add(body("of a former owner"));
        assertThat(catchThrowableOfType(LogFailure.class, () -> a.sync(64)).kind())
                .isEqualTo(AppendFailure.UNKNOWN);
        assertThat(a.claim(Past.NONE)).isInstanceOf(Held.class);
        assertThat(records(b)).isEqualTo(Map.of(kept, List.of("kept")));
        b.sync(128);
        assertThat(b.isBegun()).isTrue();
    }

    /** What a server learns of the keys of others. */
    private static final class Keys implements SigningKeys {
        String keyId;
        Optional<OwnerKey> opened = Optional.empty();
        Optional<OwnerKey> active = Optional.empty();

        Keys(String keyId) {
            this.keyId = keyId;
        }

        @Override
        public String keyId() {
            return keyId;
        }

        @Override
        public void check(OwnerKey last) {
            opened = Optional.of(last);
        }

        @Override
        public void replied(Optional<OwnerKey> owner) {
            active = owner;
        }
    }

    /** A log in memory is of tests alone, and one in files has one server. */
    @ParameterizedTest
    @EnumSource(names = {"REDIS", "POSTGRESQL"})
    void standbysLearnTheKeyOfTheActiveServer(Kind kind) throws Exception {
        Keys ofA = new Keys("11");
        FencedLog a = open(kind, "a:1", ofA);
        assertThat(ofA.opened).as("a new log").isEmpty();
        Claimed first = (Claimed) a.claim(Past.NONE);
        assertThat(ofA.active).isEmpty();
        Keys ofB = new Keys("22");
        FencedLog b = open(kind, "b:1", ofB);
        assertThat(ofB.opened).hasValue(new OwnerKey("a:1", "11", true));
        assertThat(b.claim(Past.NONE)).isInstanceOf(Held.class);
        assertThat(ofB.active).as("of a claim").hasValue(new OwnerKey("a:1", "11", true));

        ofA.keyId = "4294967295";
        a.sync(0);
        assertThat(b.claim(Past.NONE)).isInstanceOf(Held.class);
        assertThat(ofB.active).as("of a batch").hasValue(new OwnerKey("a:1", "4294967295", true));
        ofA.keyId = "12";
        Position at = new Position(first.writer(), 1);
        assertThat(a.claim(new Past(1, false, at, Position.NONE, List.of()))).isInstanceOf(Claimed.class);
        assertThat(b.claim(Past.NONE)).isInstanceOf(Held.class);
        assertThat(ofB.active).as("of a claim again").hasValue(new OwnerKey("a:1", "12", true));

        ofA.keyId = "13";
        a.endClaim();
        Keys ofC = new Keys("33");
        open(kind, "c:1", ofC);
        assertThat(ofC.opened).as("of a former owner").hasValue(new OwnerKey("a:1", "13", false));
        assertThat(b.claim(Past.NONE)).isInstanceOf(Claimed.class);
        assertThat(ofB.active).isEmpty();
        Keys ofD = new Keys("44");
        open(kind, "d:1", ofD);
        assertThat(ofD.opened).hasValue(new OwnerKey("b:1", "22", true));
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "FILES")
    void standbyWithOtherSettingsWarnsOnce(Kind kind) throws Exception {
        FencedLog a = open(kind, "a:1");
        assertThat(a.claim(Past.NONE)).isInstanceOf(Claimed.class);
        FencedLog b = open(kind, "b:1");
        assertThat(b.claim(Past.NONE)).isInstanceOf(Held.class);
        assertThat(differences(kind)).isEmpty();

        FencedLog other = open(kind, "other:1");
        for (int i = 0; i < 3; i++) {
            assertThat(other.claim(Past.NONE)).isInstanceOf(Held.class);
        }
        assertThat(differences(kind))
                .singleElement()
                .asString()
                .startsWith("event=settings_differ active=a:1 message=\"the active lock server runs with"
                        + " --claim 2s, and this one with --claim 3s:");

        a.endClaim();
        assertThat(other.claim(Past.NONE)).isInstanceOf(Claimed.class);
        assertThat(b.claim(Past.NONE)).isInstanceOf(Held.class);
        assertThat(differences(kind)).as("of the next owner").hasSize(2);
    }

    private List<String> differences(Kind kind) {
        return warnings(kind).stream()
                .filter(line -> line.contains("settings_differ"))
                .toList();
    }

    /** Records that a standby was handed. */
    private static final class Reads implements FencedLog.Loader {
        private final Map<Long, String> records = new TreeMap<>();
        private int handed;

        @Override
        public void record(long id, int index, ByteBuffer body) throws StoreUnusable {
            String text = StandardCharsets.UTF_8.decode(body).toString();
            if (text.equals("of a later release")) {
                throw new StoreUnusable("the record is of a later release");
            }
            if (text.equals("bug")) {
                throw new IllegalStateException("the record is of a later release");
            }
            records.put(id, text);
            handed++;
        }

        @Override
        public void deleted(long id) {
            records.remove(id);
        }
    }

    /** A standby and what it has read; the last loader counts. */
    private final class Standby {
        final FencedLog log;
        final List<Reads> loaders = new ArrayList<>();

        Standby(FencedLog log) {
            this.log = log;
        }

        private Reads begin() {
            loaders.add(new Reads());
            return last();
        }

        Reads last() {
            return loaders.get(loaders.size() - 1);
        }

        /** Calls until it says that there is no more. */
        int readsAhead() throws LogFailure {
            assertThat(log.claim(Past.NONE)).isInstanceOf(Held.class);
            int calls = 1;
            while (log.readAhead(this::begin)) {
                calls++;
            }
            return calls;
        }

        /** The records after a takeover. */
        Map<Long, String> takesOver() throws Exception {
            ClaimReply reply = log.claim(Past.NONE);
            for (int i = 0; i < 5 && reply instanceof Settling; i++) {
                pass(SharedLogs.SETTLE_MILLIS);
                reply = log.claim(Past.NONE);
            }
            assertThat(reply).isInstanceOf(Claimed.class);
            log.loadRest(this::begin);
            log.sync(0);
            return last().records;
        }
    }

    private static List<Long> store(FencedLog log, int batches) throws LogFailure {
        return store(log, batches, "r");
    }

    private static List<Long> store(FencedLog log, int batches, String text) throws LogFailure {
        List<Long> ids = new ArrayList<>();
        for (int i = 0; i < batches; i++) {
            ids.add(log.add(body(text)));
            log.sync(0);
        }
        return ids;
    }

    @ParameterizedTest
    @EnumSource(names = {"MEMORY", "REDIS", "POSTGRESQL"})
    void aStandbyReadsAheadInPartsAndATakeoverOnlyTheRest(Kind kind) throws Exception {
        FencedLog a = owned(kind, "a:1");
        Standby b = new Standby(open(kind, "b:1"));
        assertThat(b.readsAhead()).isEqualTo(1);
        assertThat(b.loaders).as("it is empty").isEmpty();
        List<Long> ids = store(a, 20);
        assertThat(b.readsAhead()).as("eight batches each time").isEqualTo(3);
        a.delete(ids.get(1));
        ids.addAll(store(a, 1));
        b.readsAhead();
        assertThat(b.last().handed).isEqualTo(21);
        a.delete(ids.get(0));
        ids.addAll(store(a, 1));
        pass(2_000);
        assertThat(b.takesOver()).containsOnlyKeys(ids.subList(2, 22));
        assertThat(b.loaders).hasSize(1);
        assertThat(b.last().handed).as("each once").isEqualTo(22);
        long next = b.log.add(body("later"));
        assertThat(next).isGreaterThan(ids.get(21));
        b.log.sync(0);
        b.log.endClaim();
        FencedLog c = open(kind, "c:1");
        assertThat(c.claim(Past.NONE)).isInstanceOf(Claimed.class);
        assertThat(records(c)).as("nothing is missing").hasSize(21).containsKey(next);
    }

    /** Numbers of batches are used again: what a log lost, and what another owner wrote in its place. */
    @ParameterizedTest
    @EnumSource(names = {"MEMORY", "REDIS", "POSTGRESQL"})
    void whatWasReadAheadCountsForOneWriterAlone(Kind kind) throws Exception {
        FencedLog a = owned(kind, "a:1");
        Standby b = new Standby(open(kind, "b:1"));
        Standby c = new Standby(open(kind, "c:1"));
        store(a, 9);
        b.readsAhead();
        c.readsAhead();
        losesAll(kind);
        assertThat(c.takesOver()).isEmpty();
        List<Long> ids = store(c.log, 12, "of c"); // The ids of a's records are among them.
        pass(2_000);
        assertThat(b.takesOver()).containsOnlyKeys(ids).doesNotContainValue("r");
        ids.addAll(store(b.log, 1));
        c.readsAhead();
        b.log.endClaim();
        assertThat(c.takesOver()).as("of an owner before").containsOnlyKeys(ids);
        assertThat(c.log.add(body("later"))).as("there was no rest").isGreaterThan(ids.get(12));
    }

    @ParameterizedTest
    @EnumSource(names = {"MEMORY", "REDIS", "POSTGRESQL"})
    void whatWasDroppedUnreadIsNotMissed(Kind kind) throws Exception {
        FencedLog a = owned(kind, "a:1");
        Standby b = new Standby(open(kind, "b:1"));
        List<Long> ids = store(a, 4);
        b.readsAhead();
        ids.subList(0, 3).forEach(a::delete);
        ids.addAll(store(a, 200));
        long kept = deletesAndDrops(a, ids.subList(3, 204));
        pass(2_000);
        assertThat(b.takesOver()).containsOnlyKeys(kept);
        assertThat(b.loaders).as("read anew").hasSize(2);
    }

    @ParameterizedTest
    @EnumSource(names = {"MEMORY", "REDIS", "POSTGRESQL"})
    void aLogThatMayHaveLostDataIsReadFromItsStart(Kind kind) throws Exception {
        FencedLog a = owned(kind, "a:1");
        Standby b = new Standby(open(kind, "b:1"));
        List<Long> ids = store(a, 9);
        b.readsAhead();
        restarts(kind);
        pass(2_000);
        assertThat(b.takesOver()).containsOnlyKeys(ids);
        assertThat(b.loaders).hasSize(2);
    }

    @ParameterizedTest
    @EnumSource(names = {"MEMORY", "REDIS", "POSTGRESQL"})
    void whatWasDroppedAfterItWasReadIsNotCounted(Kind kind) throws Exception {
        FencedLog a = owned(kind, "a:1");
        Standby b = new Standby(open(kind, "b:1"));
        List<Long> ids = store(a, 200);
        b.readsAhead();
        long kept = deletesAndDrops(a, ids);
        pass(2_000);
        assertThat(b.takesOver()).containsOnlyKeys(kept);
        assertThat(b.loaders).hasSize(1);
        b.log.sync(0);
        b.log.endClaim();
        FencedLog c = open(kind, "c:1");
        assertThat(c.claim(Past.NONE)).isInstanceOf(Claimed.class);
        assertThat(records(c)).as("nothing looks lost").containsOnlyKeys(kept);
    }

    /** Leaves one record. */
    private static long deletesAndDrops(FencedLog log, List<Long> ids) throws LogFailure {
        ids.forEach(log::delete);
        long kept = log.add(body("kept"));
        log.keepsFrom(kept);
        log.sync(0);
        log.sync(0);
        return kept;
    }

    @ParameterizedTest
    @EnumSource(names = {"MEMORY", "REDIS", "POSTGRESQL"})
    void whatWasReadAheadIsNotTheLogThatWasWrittenBack(Kind kind) throws Exception {
        FencedLog a = open(kind, "a:1");
        Claimed first = (Claimed) a.claim(Past.NONE);
        a.load(new Reads());
        store(a, 9);
        Standby b = new Standby(open(kind, "b:1"));
        b.readsAhead();
        losesAll(kind);
        Past past = new Past(1, true, new Position(first.writer(), 9), Position.NONE, List.of());
        assertThat(a.claim(past)).as("the log settles").isNotInstanceOf(Claimed.class);
        pass(SharedLogs.SETTLE_MILLIS);
        assertThat(a.claim(past))
                .isInstanceOfSatisfying(
                        Claimed.class, again -> assertThat(again.mine()).isTrue());
        a.beginCopy();
        List<Long> written = List.of(a.add(body("one")), a.add(body("two")));
        a.syncCopy(0);
        b.readsAhead();
        written = List.of(written.get(0), written.get(1), store(a, 1).get(0));
        pass(2_000);
        assertThat(b.takesOver()).containsOnlyKeys(written);
    }

    private SharedLogs logs(Kind kind) {
        return Objects.requireNonNull(kind == Kind.REDIS ? redis : postgres);
    }

    private void losesAll(Kind kind) {
        if (kind == Kind.MEMORY) {
            memory.flush();
        } else {
            logs(kind).lose(SharedLogs.Loss.ALL);
        }
    }

    private void restarts(Kind kind) {
        if (kind == Kind.MEMORY) {
            memory.restart();
        } else {
            logs(kind).restart();
        }
    }

    private List<String> warnings(Kind kind) {
        return kind == Kind.MEMORY
                ? clients.stream().flatMap(each -> each.warnings().stream()).toList()
                : logs(kind).warnings();
    }

    @ParameterizedTest
    @CsvSource({
        "MEMORY, of a later release",
        "REDIS, of a later release",
        "POSTGRESQL, of a later release",
        "REDIS, bug"
    })
    void aStandbyWarnsOnceOfALogThatItCannotRead(Kind kind, String record) throws Exception {
        FencedLog a = owned(kind, "a:1");
        Standby b = new Standby(open(kind, "b:1"));
        a.add(body(record));
        store(a, 9);
        for (int i = 0; i < 3; i++) {
            b.readsAhead();
            store(a, 1);
        }
        assertThat(warnings(kind))
                .filteredOn(line -> line.contains("cannot take over"))
                .singleElement()
                .asString()
                .contains("event=store_warning", "the record is of a later release");
    }

    @ParameterizedTest
    @EnumSource(names = {"MEMORY", "REDIS", "POSTGRESQL"})
    void aBatchThatWasNotStoredIsPartOfTheNextAfterTheClaim(Kind kind) throws Exception {
        FencedLog log = open(kind, "a:1");
        Claimed first = (Claimed) log.claim(Past.NONE);
        assertThat(records(log)).isEmpty();
        long id = log.add(body("one"));
        log.sync(32);
        log.update(id, 1, body("two"));
        Position at = new Position(first.writer(), 1);
        Past past = new Past(1, false, at, new Position(first.writer(), 2), List.of());
        Claimed again = (Claimed) log.claim(past);
        assertThat(again.mine()).isTrue();
        assertThat(again.position()).isEqualTo(at);
        log.sync(64); // The same batch, under the new claim.
        assertThat(records(again(kind, log))).isEqualTo(Map.of(id, List.of("one", "two")));
    }

    private static CompletableFuture<Optional<LogFailure>> send(FencedLog log, long tokens) {
        CompletableFuture<Optional<LogFailure>> outcome = new CompletableFuture<>();
        log.send(tokens, failure -> outcome.complete(Optional.ofNullable(failure)));
        return outcome;
    }

    @ParameterizedTest
    @EnumSource(names = {"MEMORY", "REDIS", "POSTGRESQL"})
    void twoBatchesAreInFlight(Kind kind) throws Exception {
        FencedLog a = open(kind, "a:1");
        Claimed first = (Claimed) a.claim(Past.NONE);
        assertThat(records(a)).isEmpty();
        long id = a.add(body("one"));
        var one = send(a, 32);
        a.update(id, 1, body("two"));
        var two = send(a, 64);
        assertThat(one.get()).isEmpty();
        assertThat(two.get()).isEmpty();
        Position at = new Position(first.writer(), 2);
        Claimed again = (Claimed) a.claim(new Past(1, false, Position.NONE, at, List.of()));
        assertThat(again.mine()).as("nothing is acknowledged").isTrue();
        assertThat(again.position()).isEqualTo(at);
        assertThat(again.tokens()).isEqualTo(64);
        FencedLog b = open(kind, "b:1");
        pass(2_000);
        assertThat(b.claim(Past.NONE)).isInstanceOf(Claimed.class);
        a.update(id, 2, body("of a former owner"));
        var three = send(a, 64);
        var four = send(a, 64);
        assertThat(three.get()).map(LogFailure::kind).hasValue(AppendFailure.UNKNOWN);
        assertThat(four.get()).map(LogFailure::kind).hasValue(AppendFailure.UNKNOWN);
        assertThat(records(b)).isEqualTo(Map.of(id, List.of("one", "two")));
    }

    @ParameterizedTest
    @EnumSource(names = {"MEMORY", "REDIS", "POSTGRESQL"})
    void readingForgetsABatchThatWasNotSynced(Kind kind) throws Exception {
        FencedLog log = owned(kind, "a:1");
        log.add(body("not synced"));
        assertThat(records(log)).isEmpty();
        log.sync(0);
        assertThat(records(again(kind, log))).isEmpty();
    }
}
