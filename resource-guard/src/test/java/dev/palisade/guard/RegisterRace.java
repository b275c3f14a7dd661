package dev.palisade.guard;

import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.grants.AppliedCheck;
import dev.palisade.grants.AppliedCheck.Applied;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.NullUnmarked;

/**
 * Holders that race through three guards with one register: some are paused, some cancel, some calls have an unknown outcome and
 * apply late; commits break before or after their effect, and guards are replaced. Judged by what the backend has applied.
 */
@NullUnmarked
final class RegisterRace {
    private static final int GUARDS = 3;
    private static final int HOLDERS = 6;
    private static final List<String> RESOURCES = List.of("orders/42", "orders/42/lines");

    private final Function<Random, MarkStore> stores;
    private final Consumer<String> endGuard;
    private final long seed;
    private final AtomicLong tokens = new AtomicLong(100);
    private final Replica[] replicas = new Replica[GUARDS];
    private final Map<String, List<Applied>> backend = new LinkedHashMap<>();
    private final Map<Object, Running> running = new LinkedHashMap<>();
    private String overlap = "";

    private record Running(List<String> resources, Mode mode, long token) {}

    /** One guard, and how many calls it may still have. */
    private final class Replica {
        private final SharedRegister store;
        private final Guard guard;
        private final AtomicInteger calls = new AtomicInteger();

        private Replica(long seed) {
            store = (SharedRegister) stores.apply(new Random(seed));
            guard = Guard.builder(SharedRegisterContract.GRANTS.verifier(), store)
                    .maxWait(Duration.ofSeconds(20))
                    .unknownOutcomeTimeout(Duration.ofMinutes(10))
                    .build();
        }
    }

    /**
     * @param stores of a guard each: steps that break before or after their effect
     * @param endGuard what an operator does
     */
    RegisterRace(Function<Random, MarkStore> stores, Consumer<String> endGuard, long seed) {
        this.stores = stores;
        this.endGuard = endGuard;
        this.seed = seed;
        RESOURCES.forEach(resource -> backend.put(resource, new ArrayList<>()));
    }

    int applied() {
        return backend.values().stream().mapToInt(List::size).sum();
    }

    /** @return the first violation */
    Optional<String> run(int grantsEach) throws Exception {
        for (int i = 0; i < GUARDS; i++) {
            replicas[i] = new Replica(seed + i);
        }
        ExecutorService threads = Executors.newFixedThreadPool(HOLDERS);
        try {
            List<Future<?>> holders = new ArrayList<>();
            for (int i = 0; i < HOLDERS; i++) {
                Random random = new Random(seed * 31 + i);
                holders.add(threads.submit(() -> {
                    for (int n = 0; n < grantsEach; n++) {
                        hold(random);
                    }
                }));
            }
            Random random = new Random(seed * 17);
            while (!holders.stream().allMatch(Future::isDone)) {
                pause(random, 200);
                replace(random.nextInt(GUARDS), random.nextLong());
            }
            for (Future<?> holder : holders) {
                holder.get();
            }
        } finally {
            threads.shutdownNow();
            for (Replica replica : replicas) {
                replica.guard.close();
            }
        }
        if (!overlap.isEmpty()) {
            return Optional.of(overlap);
        }
        return backend.entrySet().stream()
                .flatMap(entry -> AppliedCheck.firstViolation(entry.getValue()).stream()
                        .map(violation -> entry.getKey() + " " + violation))
                .findFirst();
    }

    /** An operator's way: the next replica starts, the old one is closed, and its entries are ended when its calls have ended. */
    private void replace(int slot, long newSeed) {
        Replica old;
        synchronized (this) {
            old = replicas[slot];
            replicas[slot] = new Replica(newSeed);
        }
        old.guard.close();
        SharedRegisterContract.await(() -> old.calls.get() == 0);
        endGuard.accept(old.store.guard());
    }

    private synchronized Replica enteringAt(int slot) {
        replicas[slot].calls.incrementAndGet();
        return replicas[slot];
    }

    /** One grant, from its first call to its last; the lease is long over when some of them come. */
    private void hold(Random random) {
        long token = tokens.incrementAndGet();
        Mode mode = random.nextInt(10) < 7 ? Mode.EXCLUSIVE : Mode.SHARED;
        for (int n = 1 + random.nextInt(3); n > 0; n--) {
            pause(random, 4);
            Replica replica = enteringAt(random.nextInt(GUARDS));
            try {
                call(replica, mode, token, random);
            } catch (CompletionException e) {
                if (MultiAdmission.rejected(e).rejection().reason() == Reason.TOKEN_STALE) {
                    return;
                }
            } catch (CancellationException e) {
                // It has left.
            } finally {
                replica.calls.decrementAndGet();
            }
        }
    }

    private void call(Replica replica, Mode mode, long token, Random random) {
        Access access = mode == Mode.EXCLUSIVE && random.nextInt(10) < 6 ? Access.WRITE : Access.READ;
        List<String> resources = random.nextInt(3) == 0 ? RESOURCES : List.of(RESOURCES.get(random.nextInt(2)));
        CompletableFuture<Admission> entering = replica.guard.enterAsync(
                SharedRegisterContract.GRANTS.sign("orders/42", mode, token, token),
                access,
                resources.stream()
                        .map(name -> new Binding(name, Binding.of("orders/42").lock()))
                        .toArray(Binding[]::new));
        if (random.nextInt(10) == 0) {
            pause(random, 6);
            if (entering.cancel(false)) {
                throw new CancellationException();
            }
        }
        Admission admission = entering.orTimeout(90, TimeUnit.SECONDS).join();
        begin(admission, new Running(resources, mode, token));
        pause(random, 3);
        if (random.nextInt(5) == 0) {
            var ignored = admission.outcomeUnknown();
            pause(random, 8);
        }
        apply(resources, new Applied(access == Access.WRITE, mode, token, "grant" + token));
        end(admission);
        admission.close();
    }

    private synchronized void begin(Object call, Running newcomer) {
        for (Running other : running.values()) {
            boolean bothShared = other.mode == Mode.SHARED && newcomer.mode == Mode.SHARED;
            boolean meet = other.resources.stream().anyMatch(newcomer.resources::contains);
            if (meet && !bothShared && other.token != newcomer.token && overlap.isEmpty()) {
                overlap = newcomer + " was let in beside " + other;
            }
        }
        running.put(call, newcomer);
    }

    private synchronized void end(Object call) {
        running.remove(call);
    }

    private synchronized void apply(List<String> resources, Applied row) {
        resources.forEach(resource -> backend.get(resource).add(row));
    }

    private static void pause(Random random, int millisMax) {
        LockSupport.parkNanos(random.nextInt(millisMax * 1_000_000));
    }
}
