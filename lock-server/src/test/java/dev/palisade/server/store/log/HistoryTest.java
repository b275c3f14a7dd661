package dev.palisade.server.store.log;

import static dev.palisade.server.store.log.Asking.acquire;
import static dev.palisade.server.store.log.Asking.ask;
import static dev.palisade.server.store.log.Asking.granted;
import static dev.palisade.server.store.log.Asking.name;
import static dev.palisade.server.store.log.Asking.release;
import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.Mode;
import dev.palisade.server.core.Abandon;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.EndCause;
import dev.palisade.server.core.ForceRelease;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.Leave;
import dev.palisade.server.core.Renew;
import dev.palisade.server.core.RequestRelease;
import dev.palisade.server.core.Resume;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is told of a lock's past, and what of it lasts. */
class HistoryTest {
    private static final Duration TRY = Duration.ZERO;
    private static final Duration MINUTE = Duration.ofMinutes(1);

    private final Asking asking = new Asking();

    private static List<HistoryEntry> history(LoggedStore store, String lock) throws Exception {
        return store.history(name(lock)).toCompletableFuture().get(60, TimeUnit.SECONDS);
    }

    private static List<String> told(LoggedStore store, String lock) throws Exception {
        return history(store, lock).stream()
                .map(entry -> entry.what() + " " + entry.owner() + (entry.token() == 0 ? "" : " with token")
                        + (entry.detail().isEmpty() ? "" : " " + entry.detail()))
                .toList();
    }

    private static Command force(String lock, String why) {
        return new ForceRelease(name(lock), 0, "ops", why);
    }

    @Test
    void aLocksPastIsToldInItsOrderWithWhoWhenAndWhy(@TempDir Path directory) throws Exception {
        try (LoggedStore store = asking.open(directory)) {
            Grant first = granted(store, acquire("a", 1, 1, TRY));
            asking.pass(Duration.ofMillis(5));
            ask(store, acquire("a", 2, 1, MINUTE));
            ask(store, acquire("a", 3, 1, MINUTE));
            ask(store, acquire("a", 4, 1, Duration.ofSeconds(5)));
            ask(store, acquire("a", 5, 1, TRY));
            ask(store, new Renew(name("a"), first.id(), first.token(), Asking.session(1)));
            ask(store, new Resume(name("a"), first.id(), first.token(), Asking.session(1), 2));
            ask(store, new RequestRelease(name("a"), "ops", "please"));
            ask(store, new Leave(name("a"), acquire("a", 3, 1, MINUTE).request().id(), Long.MAX_VALUE));
            ask(store, release(name("a"), first));
            asking.pass(Duration.ofMillis(2_100)); // The offer to 2 lapses; 4 is offered.
            ask(store, new Describe(name("a")));
            asking.pass(Duration.ofMillis(2_100)); // The offer to 4 lapses; 2 is offered again.
            Grant second = granted(store, acquire("a", 2, 1, MINUTE));
            ask(store, force("a", "stuck"));
            assertThat(told(store, "a"))
                    .containsExactly(
                            "GRANTED owner1 with token",
                            "QUEUED owner2",
                            "QUEUED owner3",
                            "QUEUED owner4",
                            "RESUMED owner1 with token",
                            "RELEASE_REQUESTED owner1 with token by ops: please",
                            "LEFT owner3",
                            "RELEASED owner1 with token",
                            "OFFERED owner2 with token",
                            "LAPSED owner2 with token",
                            "OFFERED owner4 with token",
                            "LAPSED owner4 with token",
                            "OFFERED owner2 with token",
                            "ACCEPTED owner2 with token",
                            "FORCE_RELEASED owner2 with token by ops: stuck",
                            "OFFERED owner4 with token");
            List<HistoryEntry> entries = history(store, "a");
            assertThat(entries.get(0))
                    .isEqualTo(new HistoryEntry(
                            Asking.START,
                            HistoryEntry.What.GRANTED,
                            first.token().value(),
                            first.id(),
                            "owner1",
                            "",
                            true));
            assertThat(entries.subList(1, entries.size())).noneMatch(HistoryEntry::isAfterGap);
            assertThat(entries.get(1).atMillis()).isEqualTo(Asking.START + 5);
            assertThat(entries.get(14).token()).isEqualTo(second.token().value());
            assertThat(entries.get(14).grant()).isEqualTo(second.id());
            assertThat(history(store, "nobody's")).isEmpty();
        }
    }

    @Test
    void anOfferToWhoIsQueuedBesideAnotherOfferIsToldToo(@TempDir Path directory) throws Exception {
        try (LoggedStore store = asking.open(directory)) {
            Grant first = granted(store, acquire("a", 1, 1, TRY));
            ask(store, acquire("a", 2, 1, MINUTE, Mode.SHARED, Duration.ZERO, Duration.ZERO));
            ask(store, release(name("a"), first)); // 2 is offered the lock and has not accepted yet.
            ask(store, acquire("a", 3, 1, MINUTE, Mode.SHARED, Duration.ZERO, Duration.ZERO));
            assertThat(told(store, "a"))
                    .containsExactly(
                            "GRANTED owner1 with token",
                            "QUEUED owner2",
                            "RELEASED owner1 with token",
                            "OFFERED owner2 with token",
                            "QUEUED owner3",
                            "OFFERED owner3 with token");
        }
    }

    @Test
    void whatTimeAndTheServerEndIsToldToo(@TempDir Path directory) throws Exception {
        try (LoggedStore store = asking.open(directory)) {
            Grant first = granted(store, acquire("a", 1, 1, TRY));
            ask(store, new Abandon(name("a"), first.id(), 5, EndCause.CONNECTION_BROKE));
            granted(store, acquire("a", 1, 2, TRY));
            ask(store, acquire("a", 2, 1, Duration.ofSeconds(3)));
            asking.pass(Duration.ofSeconds(11));
            ask(store, new Describe(name("a")));
            // Nobody's: it had not asked for anything.
            ask(store, new Leave(name("a"), acquire("a", 9, 9, TRY).request().id(), Long.MAX_VALUE));
            assertThat(told(store, "a"))
                    .containsExactly(
                            "GRANTED owner1 with token",
                            "ABANDONED owner1 with token " + EndCause.CONNECTION_BROKE.words(),
                            "GRANTED owner1 with token",
                            "QUEUED owner2",
                            "EXPIRED owner1 with token",
                            "TIMED_OUT owner2");
        }
    }

    @Test
    void onlyTheLastFiftyOfALockAreToldAndABusyLockPushesNoOtherOut(@TempDir Path directory) throws Exception {
        asking.config = new LoggedStoreConfig(1_000, 100_000, 1_000, 1_000, 60);
        try (LoggedStore store = asking.open(directory)) {
            ask(store, release(name("quiet"), granted(store, acquire("quiet", 1, 1, TRY))));
            long last = 0;
            for (int i = 1; i <= 100; i++) {
                Grant grant = granted(store, acquire("busy", 2, i, TRY));
                ask(store, release(name("busy"), grant));
                last = grant.token().value();
            }
            assertThat(history(store, "busy"))
                    .hasSize(50)
                    .last()
                    .satisfies(entry -> assertThat(entry.what()).isEqualTo(HistoryEntry.What.RELEASED));
            assertThat(history(store, "busy").get(49).token()).isEqualTo(last);
            assertThat(history(store, "busy").get(0).token()).isEqualTo(last - 24 * FencingToken.PER_GRANT);
            assertThat(told(store, "quiet")).hasSize(2);
            // Many names push the oldest out, and with them the quiet one.
            for (int i = 0; i < 30; i++) {
                granted(store, acquire("name" + i, 3, i + 1, TRY));
            }
            assertThat(told(store, "quiet")).isEmpty();
            assertThat(told(store, "name29")).hasSize(1);
        }
    }

    @Test
    void memoryIsBoundedWhateverNamesAreUsed() {
        Entries entries = new Entries(1_000, 50);
        for (int i = 0; i < 1_000_000; i++) {
            entries.add(entry("name" + i, i));
        }
        assertThat(entries.size()).isEqualTo(1_000);
        assertThat(entries.locks()).isEqualTo(1_000);
        for (int i = 0; i < 1_000_000; i++) {
            entries.add(entry("name" + i % 40, i));
        }
        assertThat(entries.size()).isLessThanOrEqualTo(1_000);
        assertThat(entries.locks()).isEqualTo(40);
        assertThat(entries.newestOf(name("name39"), 3))
                .extracting(entry -> entry.number)
                .containsExactly(999_919L, 999_959L, 999_999L);
    }

    private static Entries.Entry entry(String lock, long number) {
        HistoryEntry told = new HistoryEntry(1, HistoryEntry.What.GRANTED, 1, new GrantId(1, number), "", "");
        return new Entries.Entry(name(lock), told, number, 0);
    }

    @Test
    void aForcedReleaseIsOnRecordForEverWhateverHappensToItsLockAndWhateverElseHappens(@TempDir Path directory)
            throws Exception {
        asking.config = new LoggedStoreConfig(1_000, 100_000, 1_000, 1_000, 10);
        HistoryEntry forced;
        try (LoggedStore store = asking.open(directory)) {
            Grant held = granted(store, acquire("a", 1, 1, TRY));
            asking.pass(Duration.ofMillis(7));
            ask(store, force("a", "node 7 is gone"));
            forced = history(store, "a").get(1);
            assertThat(forced)
                    .isEqualTo(new HistoryEntry(
                            Asking.START + 7,
                            HistoryEntry.What.FORCE_RELEASED,
                            held.token().value(),
                            held.id(),
                            "owner1",
                            "by ops: node 7 is gone"));
            for (int i = 0; i < 30; i++) {
                granted(store, acquire("name" + i, 3, i + 1, TRY));
            }
            assertThat(history(store, "a"))
                    .as("what else there was of it is gone")
                    .containsExactly(forced.afterGap());
            asking.pass(Duration.ofMinutes(5));
            ask(store, new Describe(name("a")));
        }
        for (int life = 0; life < 2; life++) {
            asking.pass(Duration.ofHours(1));
            try (LoggedStore store = asking.open(directory)) {
                assertThat(history(store, "a"))
                        .as("what else there was of it is gone")
                        .containsExactly(forced.afterGap());
                // What comes after it is told after it, also when the clock was set back.
                granted(store, acquire("a", 2, life + 1, TRY));
                assertThat(told(store, "a")).hasSize(2).last().isEqualTo("GRANTED owner2 with token");
                ask(
                        store,
                        new Leave(
                                name("a"),
                                acquire("a", 2, life + 1, TRY).request().id(),
                                Long.MAX_VALUE));
            }
        }
    }

    @Test
    void anAnsweredForcedReleaseSurvivesAKillAndTheLockStaysFree(@TempDir Path directory, @TempDir Path copy)
            throws Exception {
        try (LoggedStore store = asking.open(directory)) {
            Grant held = granted(store, acquire("a", 1, 1, TRY));
            ask(store, force("a", "gone"));
            // As a kill leaves it: nothing is flushed, closed or tidied up after the answer.
            image(directory, copy);
            try (LoggedStore after = asking.open(copy)) {
                assertThat(told(after, "a")).containsExactly("FORCE_RELEASED owner1 with token by ops: gone");
                assertThat(history(after, "a").get(0).token())
                        .isEqualTo(held.token().value());
                assertThat(Asking.described(after, "a").holders()).isEmpty();
                assertThat(Asking.described(after, "a").tombstones())
                        .singleElement()
                        .satisfies(ended -> assertThat(ended.detail()).isEqualTo("by ops: gone"));
            }
        }
    }

    private static void image(Path directory, Path copy) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Path to = copy.resolve(directory.relativize(file).toString());
                Files.createDirectories(to.getParent());
                Files.copy(file, to, StandardCopyOption.REPLACE_EXISTING);
            }
        }
    }

    @Test
    void onlyTheNewestForcedReleasesAreKept(@TempDir Path directory) throws Exception {
        int more = 5;
        asking.config = new LoggedStoreConfig(100_000, 100_000, 1_000, 200_000, 10);
        for (int life = 0; life < 2; life++) {
            try (LoggedStore store = asking.open(directory)) {
                if (life == 0) {
                    CompletableFuture<?> last = CompletableFuture.completedFuture(null);
                    for (int i = 1; i <= History.FORCED_MAX + more; i++) {
                        store.execute(acquire("name" + i, 1, i, TRY));
                        last = store.execute(force("name" + i, "clean")).toCompletableFuture();
                    }
                    last.get(60, TimeUnit.SECONDS);
                }
                assertThat(history(store, "name" + more)).as("life " + life).isEmpty();
                assertThat(history(store, "name" + (more + 1))).hasSize(1);
                assertThat(history(store, "name" + (History.FORCED_MAX + more))).isNotEmpty();
            }
        }
    }

    @Test
    void aForcedReleaseThatWasCutOffBeforeItsLockWasWrittenIsNotTold(@TempDir Path directory) throws Exception {
        Grant held;
        try (LoggedStore store = asking.open(directory)) {
            held = granted(store, acquire("a", 1, 1, TRY));
        }
        try (FencedLog journal = Asking.journal(directory)) {
            Restored restored = new Restored();
            journal.load(restored);
            // The first of the two records; the process dies before the second.
            new History(new Records(journal), 10)
                    .happened(
                            name("a"),
                            new HistoryEntry(
                                    Asking.START,
                                    HistoryEntry.What.FORCE_RELEASED,
                                    held.token().value(),
                                    held.id(),
                                    held.request().owner(),
                                    "by ops: cut off"));
            journal.sync(0);
        }
        try (LoggedStore store = asking.open(directory)) {
            assertThat(Asking.described(store, "a").holders()).hasSize(1);
            assertThat(history(store, "a")).isEmpty();
            ask(store, release(name("a"), held));
        }
        try (LoggedStore store = asking.open(directory)) {
            assertThat(history(store, "a")).as("gone for good").isEmpty();
        }
    }
}
