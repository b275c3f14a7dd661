package dev.palisade.bench;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.LostReason;
import dev.palisade.scenario.ScenarioFailed;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** Leases that one session holds, each of a lock of its own. */
final class HeldLeases implements AutoCloseable {
    private static final int IN_FLIGHT = 256;

    /** Of each, by default. */
    static final Duration TTL = Duration.ofSeconds(10);

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final AcquireOptions WAITING = AcquireOptions.waiting(PATIENCE);

    private final PalisadeClient client;
    private final Queue<Lease> leases = new ConcurrentLinkedQueue<>();

    private HeldLeases(PalisadeClient client) {
        this.client = client;
    }

    /** A new session that holds {@code prefix/0} and so on, up to {@code count} of them. */
    static HeldLeases take(String address, String prefix, int count) throws InterruptedException {
        return take(PalisadeClient.builder().servers(address), prefix, count);
    }

    /** The same with a client of {@code builder}'s. */
    static HeldLeases take(PalisadeClient.Builder builder, String prefix, int count) throws InterruptedException {
        HeldLeases held = new HeldLeases(builder.owner(prefix)
                .callTimeout(PATIENCE)
                .callbackExecutor(Runnable::run)
                .build());
        try {
            held.fill(prefix, count);
            return held;
        } catch (ScenarioFailed e) {
            held.close();
            throw e;
        }
    }

    private void fill(String prefix, int count) throws InterruptedException {
        Semaphore free = new Semaphore(IN_FLIGHT);
        AtomicReference<String> failed = new AtomicReference<>();
        for (int i = 0; i < count && failed.get() == null; i++) {
            acquire(free);
            var unused = client.acquireAsync(prefix + "/" + i, WAITING).whenComplete((result, failure) -> {
                if (result instanceof AcquireResult.Granted granted) {
                    leases.add(granted.lease());
                } else {
                    failed.set("a lock was not granted: " + (failure == null ? result : failure));
                }
                free.release();
            });
        }
        for (int i = 0; i < IN_FLIGHT; i++) {
            acquire(free);
        }
        String failure = failed.get();
        if (failure != null) {
            throw new ScenarioFailed(failure);
        }
    }

    private static void acquire(Semaphore free) throws InterruptedException {
        if (!free.tryAcquire(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
            throw new ScenarioFailed("an acquire has no answer after " + PATIENCE.toSeconds() + " s");
        }
    }

    int count() {
        return leases.size();
    }

    /** Takes {@code name} as well, releases it, and returns when that is confirmed. Fails if it is not granted within a minute. */
    CompletionStage<?> takeOneMore(String name) {
        return client.acquireAsync(name, WAITING).thenCompose(result -> {
            if (result instanceof AcquireResult.Granted granted) {
                return granted.lease().releaseAsync();
            }
            throw new ScenarioFailed(name + " was not granted: " + result);
        });
    }

    /** Fails unless all of them hold now. */
    void requireValid() {
        List<Lease> lost = leases.stream().filter(lease -> !lease.isValid()).toList();
        if (!lost.isEmpty()) {
            throw new ScenarioFailed("of " + leases.size() + " leases of a session " + lost.size() + " are lost: "
                    + lost.get(0).lostReason().map(LostReason::toString).orElse("not told why"));
        }
    }

    /** Releases all of them and ends the session. */
    @Override
    public void close() {
        client.close();
    }
}
