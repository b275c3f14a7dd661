package dev.palisade.server.store.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RequestId;
import dev.palisade.server.core.Accept;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.Leave;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Offer;
import dev.palisade.server.core.Tombstone;
import dev.palisade.server.core.Waiter;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.log.Asking;
import dev.palisade.server.store.log.LoggedStore;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Copies the data directory from inside the store's own telling, when a batch was synced and its answers are on their way:
 * the copy is what a crash at that moment leaves. It must hold exactly what was told by then.
 */
class CrashImageTest {
    private static final int LOCKS = 6;

    private final Asking asking = new Asking();

    /** What must not be lost: lease ends and signs of life are not kept, and a failed try leaves nothing. */
    private record Kept(
            List<String> holders,
            List<String> offers,
            List<String> waiters,
            List<Tombstone> ends,
            long lockDelayUntilMillis,
            long minimumHoldUntilMillis) {
        static Kept of(LockState state) {
            return new Kept(
                    state.holders().stream()
                            .map(grant -> grant.token() + " " + grant.request() + " " + grant.grantedAtMillis())
                            .toList(),
                    state.offers().stream()
                            .map(offer -> offer.token() + " " + of(offer.waiter()))
                            .toList(),
                    state.waiters().stream().map(Kept::of).toList(),
                    state.tombstones().stream()
                            .filter(end -> end.end() != dev.palisade.server.core.End.BUSY)
                            .toList(),
                    state.lockDelayUntilMillis(),
                    state.minimumHoldUntilMillis());
        }

        private static String of(Waiter waiter) {
            return waiter.request() + " " + waiter.queuedAtMillis() + " " + waiter.waitUntilMillis() + " "
                    + waiter.lapse();
        }
    }

    private static final class Taking implements LockStore.Listener {
        final Path directory;
        final Path images;
        final Map<LockName, LockState> told = new ConcurrentHashMap<>();
        final List<Path> taken = new ArrayList<>();
        final List<Map<LockName, LockState>> toldByThen = new ArrayList<>();
        final List<Long> highestToken = new ArrayList<>();
        long highest;
        int batches;

        Taking(Path directory, Path images) {
            this.directory = directory;
            this.images = images;
        }

        @Override
        public void changed(LockState next, List<LockEvent> events, long decidedAtMillis) {
            told.put(next.name(), next);
            for (LockEvent event : events) {
                if (event instanceof LockEvent.Granted granted) {
                    highest = Math.max(highest, granted.grant().token().value());
                } else if (event instanceof LockEvent.Offered offered) {
                    highest = Math.max(highest, offered.token().value());
                }
            }
        }

        @Override
        public void told() {
            if (++batches % 61 != 0) {
                return;
            }
            try {
                Path image = images.resolve("image" + batches);
                JournalTest.copy(directory, image);
                taken.add(image);
                toldByThen.add(new HashMap<>(told));
                highestToken.add(highest);
            } catch (java.io.IOException e) {
                throw new java.io.UncheckedIOException(e);
            }
        }
    }

    @Test
    void aCrashAtAnyMomentLosesNothingThatWasToldAndInventsNothing(@TempDir Path temp) throws Exception {
        Taking taking = new Taking(temp.resolve("store"), temp.resolve("images"));
        Random random = new Random(5);
        try (LoggedStore store = asking.open(temp.resolve("store"), taking)) {
            long request = 0;
            List<CompletableFuture<Answer>> asked = new ArrayList<>();
            for (int i = 0; i < 6_000; i++) {
                asked.add(store.execute(random(random, taking, ++request)).toCompletableFuture());
                if (random.nextInt(12) == 0) {
                    for (CompletableFuture<Answer> each : asked) {
                        each.get();
                    }
                    asked.clear();
                }
                if (random.nextInt(40) == 0) {
                    asking.pass(Duration.ofMillis(random.nextInt(4_000)));
                }
            }
        }
        assertThat(taking.taken).hasSizeGreaterThan(5);
        int compared = 0;
        for (int i = 0; i < taking.taken.size(); i++) {
            Map<LockName, LockState> expected = taking.toldByThen.get(i);
            try (LoggedStore store = asking.open(taking.taken.get(i))) {
                long now = store.nowMillis();
                for (int lock = 0; lock < LOCKS; lock++) {
                    LockName name = Asking.name("lock" + lock);
                    LockState told = expected.getOrDefault(name, LockState.unused(name, 0));
                    LockState found = Asking.described(store, name.value());
                    assertThat(Kept.of(found).holders())
                            .as("%s in image %d", name, i)
                            .isEqualTo(Kept.of(told).holders());
                    assertThat(Kept.of(found).ends())
                            .as("ends of %s in image %d", name, i)
                            .containsAll(Kept.of(told).ends());
                    // A failed try, which is not kept, lets go of ends older than a minute; without it they stay.
                    assertThat(Kept.of(found).ends())
                            .filteredOn(end -> !Kept.of(told).ends().contains(end))
                            .allMatch(end -> now - end.endedAtMillis() >= Limits.TOMBSTONE_MILLIS
                                    || told.waiters().stream()
                                            .anyMatch(w -> w.request().id().equals(end.request())
                                                    && w.waitUntilMillis() <= now));
                    assertThat(found.lockDelayUntilMillis()).isEqualTo(told.lockDelayUntilMillis());
                    assertThat(found.minimumHoldUntilMillis()).isEqualTo(told.minimumHoldUntilMillis());
                    if (told.waiters().stream().allMatch(w -> w.waitUntilMillis() > now)
                            && (told.closedUntilMillis() == 0 || told.closedUntilMillis() > now)) {
                        assertThat(Kept.of(found).waiters())
                                .as("waiters of %s in image %d", name, i)
                                .isEqualTo(Kept.of(told).waiters());
                        assertThat(Kept.of(found).offers())
                                .as("offers of %s in image %d", name, i)
                                .isEqualTo(Kept.of(told).offers());
                        compared++;
                    }
                    assertThat(found.holders())
                            .allMatch(grant -> grant.expiresAtMillis()
                                    > now + grant.request().ttlMillis() - 1_000);
                }
                Grant fresh = Asking.granted(store, Asking.acquire("fresh", 99, i + 1L, Duration.ZERO));
                assertThat(fresh.token().value()).isGreaterThan(taking.highestToken.get(i));
            }
        }
        assertThat(compared).isGreaterThan(20);
    }

    private static Command random(Random random, Taking taking, long request) {
        String lock = "lock" + random.nextInt(LOCKS);
        LockName name = Asking.name(lock);
        LockState state = taking.told.getOrDefault(name, LockState.unused(name, 0));
        List<Grant> holders = state.holders();
        List<Offer> offers = state.offers();
        List<Waiter> waiters = state.waiters();
        switch (random.nextInt(6)) {
            case 0 -> {
                if (!holders.isEmpty()) {
                    return Asking.release(name, holders.get(random.nextInt(holders.size())));
                }
            }
            case 1 -> {
                if (!offers.isEmpty()) {
                    Offer offer = offers.get(random.nextInt(offers.size()));
                    GrantId grant = offer.request().grant();
                    return new Accept(
                            name, grant, offer.token(), offer.request().id().session(), 0);
                }
            }
            case 2 -> {
                if (!waiters.isEmpty()) {
                    RequestId waiting = waiters.get(random.nextInt(waiters.size()))
                            .request()
                            .id();
                    return new Leave(name, waiting, Long.MAX_VALUE);
                }
            }
            default -> {}
        }
        return Asking.acquire(
                lock,
                1 + random.nextInt(5),
                request,
                random.nextInt(3) == 0 ? Duration.ZERO : Duration.ofHours(1),
                random.nextInt(3) == 0 ? Mode.SHARED : Mode.EXCLUSIVE,
                random.nextInt(4) == 0 ? Duration.ofSeconds(5) : Duration.ZERO,
                Duration.ZERO);
    }
}
