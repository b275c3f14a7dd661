package dev.palisade.server.store.log;

import static dev.palisade.server.store.log.Asking.acquire;
import static dev.palisade.server.store.log.Asking.ask;
import static dev.palisade.server.store.log.Asking.granted;
import static dev.palisade.server.store.log.Asking.name;
import static dev.palisade.server.store.log.Asking.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.Mode;
import dev.palisade.server.core.Abandon;
import dev.palisade.server.core.EndCause;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockState;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pages of the locks in use. */
class ListTest {
    private static final Duration TRY = Duration.ZERO;
    private static final Duration MINUTE = Duration.ofMinutes(1);

    private final Asking asking = new Asking();

    private static LockPage page(LoggedStore store, String prefix, String after, int most) throws Exception {
        return store.list(prefix, after, most).toCompletableFuture().get(60, TimeUnit.SECONDS);
    }

    private static List<String> all(LoggedStore store, String prefix, int most) throws Exception {
        List<String> names = new ArrayList<>();
        String after = "";
        do {
            LockPage page = page(store, prefix, after, most);
            names.addAll(namesOf(page));
            after = page.nextAfter();
        } while (!after.isEmpty());
        return names;
    }

    private static List<String> namesOf(LockPage page) {
        return page.locks().stream().map(LockState::name).map(Object::toString).toList();
    }

    @Test
    void whatIsHeldOfferedWaitedForOrClosedIsListedAndNothingElseAlsoAfterARestart(@TempDir Path directory)
            throws Exception {
        try (LoggedStore store = asking.open(directory)) {
            granted(store, acquire("held", 1, 1, TRY));
            ask(store, release(name("released"), granted(store, acquire("released", 1, 2, TRY))));
            Grant first = granted(store, acquire("offered", 1, 3, TRY));
            ask(store, acquire("offered", 2, 3, MINUTE));
            ask(store, release(name("offered"), first));
            Grant delayed = granted(
                    store, acquire("delayed", 1, 4, TRY, Mode.EXCLUSIVE, Duration.ofSeconds(30), Duration.ZERO));
            ask(store, new Abandon(name("delayed"), delayed.id(), 1, EndCause.CONNECTION_BROKE));
            assertThat(all(store, "", 2)).containsExactly("delayed", "held", "offered");
        }
        try (LoggedStore store = asking.open(directory)) {
            assertThat(all(store, "", 2)).containsExactly("delayed", "held", "offered");
            asking.pass(
                    Duration.ofSeconds(31)); // Of the lease, the delay and, in two steps, the offer nothing is left.
            await().untilAsserted(() -> assertThat(all(store, "", 10)).isEmpty());
            asking.pass(Duration.ofMinutes(2));
            await().untilAsserted(() -> assertThat(known(store)).isZero());
        }
    }

    private static int known(LoggedStore store) throws Exception {
        return ((Names) Asking.ofTable(store, "names")).size();
    }

    @Test
    void aListingIsStableWhileOtherLocksComeAndGo(@TempDir Path directory) throws Exception {
        try (LoggedStore store = asking.open(directory)) {
            TreeSet<String> staying = new TreeSet<>();
            for (int i = 0; i < 300; i++) {
                granted(store, acquire("stays" + i, 1, i + 1, TRY));
                staying.add("stays" + i);
            }
            List<String> seen = new ArrayList<>();
            String after = "";
            int turn = 0;
            do {
                Grant passing = granted(store, acquire("stays" + turn + "x", 2, ++turn, TRY));
                LockPage page = page(store, "stays", after, 7);
                seen.addAll(namesOf(page));
                after = page.nextAfter();
                ask(store, release(name("stays" + (turn - 1) + "x"), passing));
            } while (!after.isEmpty());
            assertThat(seen).doesNotHaveDuplicates().isSorted();
            assertThat(seen.stream().filter(staying::contains)).containsExactlyElementsOf(staying);
        }
    }

    @Test
    void aPageLooksAtABoundedNumberOfNamesHoweverManyAreKnownAndUnused() {
        Names names = new Names();
        for (int i = 0; i < 5_000; i++) {
            names.add(new Slot(LockState.unused(name("n" + (10_000 + i)), 0)));
        }
        Names.Walk walk = names.walk("n", "", 10, 1_000, 1);
        assertThat(walk.lookedAt()).isEqualTo(1_000);
        assertThat(walk.page().locks()).isEmpty();
        assertThat(walk.page().nextAfter()).isEqualTo("n10999");
        int looks = 1;
        while (!walk.page().nextAfter().isEmpty()) {
            walk = names.walk("n", walk.page().nextAfter(), 10, 1_000, 1);
            looks++;
        }
        assertThat(looks).isEqualTo(5);
    }

    @Test
    void manyListsAtOnceEachGetOnAndTogetherLookAtFewNames(@TempDir Path directory) throws Exception {
        int locks = 30_000;
        asking.config = new LoggedStoreConfig(100_000, 100_000, 100_000, 200_000, 10);
        try (LoggedStore store = asking.open(directory)) {
            CompletableFuture<?> last = CompletableFuture.completedFuture(null);
            for (int i = 1; i <= locks; i++) {
                last = store.execute(acquire("n" + i, 1, i, TRY)).toCompletableFuture();
            }
            last.get(60, TimeUnit.SECONDS);
            List<CompletableFuture<LockPage>> pages = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                pages.add(store.list("n", "", 1_000).toCompletableFuture());
            }
            for (CompletableFuture<LockPage> each : pages) {
                assertThat(each.get(60, TimeUnit.SECONDS).locks()).isNotEmpty();
            }
            assertThat(all(store, "n", 1_000)).hasSize(locks).doesNotHaveDuplicates();
        }
    }
}
