package dev.palisade.faults;

import com.google.gson.JsonObject;
import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import dev.palisade.scenario.GuardedObjects;
import dev.palisade.scenario.History;
import java.time.Duration;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Workload of one logical client of a {@link BusyClient}: acquires a lock with one of the SDK's methods, reads the
 * counter, waits, writes the incremented counter, and releases. Its random numbers alone determine the operations.
 */
final class Workload implements Runnable {
    private static final long ASYNC_TIMEOUT_MILLIS = 12_000;

    private final String name;
    private final PalisadeClient client;
    private final GuardedObjects objects;
    private final History history;
    private final LeaseMonitor monitor;
    private final Locks locks;
    private final Random random;
    private final StopLatch stopLatch;

    /** The SDK's acquire methods. */
    private enum AcquireMethod {
        TRY,
        TIMED,
        ASYNC,
        ASYNC_CANCELLED
    }

    Workload(
            String name,
            PalisadeClient client,
            GuardedObjects objects,
            History history,
            LeaseMonitor monitor,
            Locks locks,
            Random random,
            StopLatch stopLatch) {
        this.name = name;
        this.client = client;
        this.objects = objects;
        this.history = history;
        this.monitor = monitor;
        this.locks = locks;
        this.random = random;
        this.stopLatch = stopLatch;
    }

    @Override
    public void run() {
        try {
            for (int round = 0; !stopLatch.isStopped(); round++) {
                runOnce(name + "-" + round);
                stopLatch.await(20 + random.nextInt(180));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // The process stops.
        }
    }

    private void runOnce(String op) throws InterruptedException {
        // Those of one process that acquire identical take turns.
        boolean identical = random.nextBoolean();
        String lock = identical ? locks.hottest() : locks.any(random);
        AcquireMethod method = new AcquireMethod[] {
                    AcquireMethod.TRY,
                    AcquireMethod.TIMED,
                    AcquireMethod.TIMED,
                    AcquireMethod.TIMED,
                    AcquireMethod.ASYNC,
                    AcquireMethod.ASYNC_CANCELLED
                }
                [random.nextInt(6)];
        long ttlMillis = identical ? 2_000 : 1_000L + random.nextInt(1_500);
        long waitMillis = method == AcquireMethod.TRY ? 0 : 500L + random.nextInt(5_500);
        AcquireOptions options = AcquireOptions.waiting(Duration.ofMillis(waitMillis))
                .mode(!identical && random.nextInt(2) == 0 ? Mode.SHARED : Mode.EXCLUSIVE)
                .ttl(Duration.ofMillis(ttlMillis))
                .lockDelay(Duration.ofMillis(!identical && random.nextInt(4) == 0 ? 300 + random.nextInt(700) : 0))
                .purpose(identical ? "" : op);
        JsonObject request = history.event("asked");
        request.addProperty("lock", lock);
        request.addProperty("op", op);
        request.addProperty("mode", options.mode().name());
        request.addProperty("way", method.name());
        request.addProperty("wait_millis", waitMillis);
        request.addProperty("ttl_millis", ttlMillis);
        request.addProperty("lock_delay_millis", options.lockDelay().toMillis());
        history.write(request);
        JsonObject event = history.event("granted");
        event.addProperty("asked", request.get("at").getAsLong());
        event.addProperty("lock", lock);
        event.addProperty("op", op);
        event.addProperty("mode", options.mode().name());
        Optional<Lease> taken = acquire(method, lock, options, event);
        if (taken.isEmpty()) {
            event.addProperty("at", System.nanoTime());
            history.write(event);
            return;
        }
        use(taken.get(), event, op, thinkMillis(ttlMillis));
    }

    /** Mostly short; sometimes longer than the lease lasts without renewal. */
    private long thinkMillis(long ttlMillis) {
        return random.nextInt(12) == 0 ? ttlMillis * (110 + random.nextInt(60)) / 100 : random.nextInt(400);
    }

    /** Returns the lease; if there is none, {@code event} gets the reason. */
    private Optional<Lease> acquire(AcquireMethod method, String lock, AcquireOptions options, JsonObject event)
            throws InterruptedException {
        try {
            AcquireResult result = method == AcquireMethod.TRY || method == AcquireMethod.TIMED
                    ? client.tryAcquire(lock, options)
                    : awaitResult(method, client.acquireAsync(lock, options), options);
            if (result instanceof AcquireResult.Granted granted) {
                return Optional.of(granted.lease());
            }
            event.addProperty("event", "not-granted");
            event.addProperty("reason", reason(result));
        } catch (RejectedException e) {
            event.addProperty("event", "not-granted");
            event.addProperty("reason", e.rejection().reason().name());
        } catch (CancelledBeforeReply e) {
            event.addProperty("event", "cancelled");
        }
        return Optional.empty();
    }

    private static String reason(AcquireResult result) {
        return result instanceof AcquireResult.Unavailable unavailable
                ? unavailable.rejection().reason().name()
                : result.getClass().getSimpleName();
    }

    private AcquireResult awaitResult(
            AcquireMethod method, CompletableFuture<AcquireResult> future, AcquireOptions options)
            throws CancelledBeforeReply {
        if (method == AcquireMethod.ASYNC_CANCELLED) {
            stopLatch.await(random.nextInt((int) options.waitTime().toMillis() / 2));
            if (future.cancel(false)) {
                throw new CancelledBeforeReply();
            }
        }
        try {
            return future.get(ASYNC_TIMEOUT_MILLIS, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw new IllegalStateException("an acquire that waits at most 6 s was not answered after 12", e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RejectedException rejected) {
                throw rejected;
            }
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CancelledBeforeReply();
        }
    }

    private void use(Lease lease, JsonObject granted, String op, long thinkMillis) {
        long until = LeaseMonitor.untilNanos(lease);
        granted.addProperty("at", System.nanoTime());
        granted.addProperty("token", lease.token().value());
        granted.addProperty("grant", lease.grant().toString());
        granted.addProperty("until", until);
        history.write(granted);
        monitor.add(lease, until);
        lease.onReleaseRequested(releaseRequest -> history.write(monitor.about("release-requested", lease)));
        try {
            work(lease, op, thinkMillis);
        } finally {
            history.write(monitor.about("releasing", lease));
            monitor.remove(lease);
            String outcome = lease.release().name();
            JsonObject released = monitor.about("released", lease);
            released.addProperty("outcome", outcome);
            history.write(released);
        }
    }

    private void work(Lease lease, String op, long thinkMillis) {
        Optional<Long> count = objects.read(lease).map(Workload::count);
        if (lease.mode() == Mode.SHARED) {
            stopLatch.await(thinkMillis);
            objects.read(lease);
            return;
        }
        int writes = random.nextInt(3) == 0 ? 2 : 1;
        for (int i = 1; i <= writes && count.isPresent(); i++) {
            stopLatch.await(thinkMillis);
            if (!objects.write(lease, op + "-" + i, (count.get() + i) + " " + op + "-" + i)) {
                objects.read(lease); // Refused or unknown: the counter is stale, so the workload stops here.
                return;
            }
        }
    }

    /** The count in the content {@code COUNT OP}, in which OP names the increment. */
    private static long count(String text) {
        return text.isEmpty() ? 0 : Long.parseLong(text.substring(0, text.indexOf(' ')));
    }

    /** The future was cancelled before it was answered. */
    private static final class CancelledBeforeReply extends Exception {
        private static final long serialVersionUID = 1L;
    }
}
