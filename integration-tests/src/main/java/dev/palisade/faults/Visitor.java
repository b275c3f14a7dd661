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
 * One logical client of a {@link BusyClient}: takes a lock in one of the ways the SDK has, reads the counter under it, thinks, writes it
 * one higher, releases. What it does is chosen by its random numbers alone.
 */
final class Visitor implements Runnable {
    private static final long ASYNC_PATIENCE_MILLIS = 12_000;

    private final String name;
    private final PalisadeClient client;
    private final GuardedObjects objects;
    private final History history;
    private final LeaseWatch watch;
    private final Locks locks;
    private final Random random;
    private final Stopping stopping;

    /** How it asks. */
    private enum Way {
        TRY,
        TIMED,
        ASYNC,
        ASYNC_CANCELLED
    }

    Visitor(
            String name,
            PalisadeClient client,
            GuardedObjects objects,
            History history,
            LeaseWatch watch,
            Locks locks,
            Random random,
            Stopping stopping) {
        this.name = name;
        this.client = client;
        this.objects = objects;
        this.history = history;
        this.watch = watch;
        this.locks = locks;
        this.random = random;
        this.stopping = stopping;
    }

    @Override
    public void run() {
        try {
            for (int round = 0; !stopping.asked(); round++) {
                visit(name + "-" + round);
                stopping.within(20 + random.nextInt(180));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // Nobody wants its work any more.
        }
    }

    private void visit(String op) throws InterruptedException {
        // Those of one process that ask alike take turns.
        boolean alike = random.nextBoolean();
        String lock = alike ? locks.hottest() : locks.any(random);
        Way way =
                new Way[] {Way.TRY, Way.TIMED, Way.TIMED, Way.TIMED, Way.ASYNC, Way.ASYNC_CANCELLED}[random.nextInt(6)];
        long ttlMillis = alike ? 2_000 : 1_000L + random.nextInt(1_500);
        long waitMillis = way == Way.TRY ? 0 : 500L + random.nextInt(5_500);
        AcquireOptions options = AcquireOptions.waiting(Duration.ofMillis(waitMillis))
                .mode(!alike && random.nextInt(2) == 0 ? Mode.SHARED : Mode.EXCLUSIVE)
                .ttl(Duration.ofMillis(ttlMillis))
                .lockDelay(Duration.ofMillis(!alike && random.nextInt(4) == 0 ? 300 + random.nextInt(700) : 0))
                .purpose(alike ? "" : op);
        JsonObject asked = history.event("asked");
        asked.addProperty("lock", lock);
        asked.addProperty("op", op);
        asked.addProperty("mode", options.mode().name());
        asked.addProperty("way", way.name());
        asked.addProperty("wait_millis", waitMillis);
        asked.addProperty("ttl_millis", ttlMillis);
        asked.addProperty("lock_delay_millis", options.lockDelay().toMillis());
        history.write(asked);
        JsonObject answer = history.event("granted");
        answer.addProperty("asked", asked.get("at").getAsLong());
        answer.addProperty("lock", lock);
        answer.addProperty("op", op);
        answer.addProperty("mode", options.mode().name());
        Optional<Lease> taken = ask(way, lock, options, answer);
        if (taken.isEmpty()) {
            answer.addProperty("at", System.nanoTime());
            history.write(answer);
            return;
        }
        use(taken.get(), answer, op, thinkMillis(ttlMillis));
    }

    /** Mostly short; sometimes longer than the lease lasts without renewal. */
    private long thinkMillis(long ttlMillis) {
        return random.nextInt(12) == 0 ? ttlMillis * (110 + random.nextInt(60)) / 100 : random.nextInt(400);
    }

    /** The lease; if there is none, {@code answer} says why. */
    private Optional<Lease> ask(Way way, String lock, AcquireOptions options, JsonObject answer)
            throws InterruptedException {
        try {
            AcquireResult result = way == Way.TRY || way == Way.TIMED
                    ? client.tryAcquire(lock, options)
                    : later(way, client.acquireAsync(lock, options), options);
            if (result instanceof AcquireResult.Granted granted) {
                return Optional.of(granted.lease());
            }
            answer.addProperty("event", "not-granted");
            answer.addProperty("reason", reason(result));
        } catch (RejectedException e) {
            answer.addProperty("event", "not-granted");
            answer.addProperty("reason", e.rejection().reason().name());
        } catch (CancelledInTheMiddle e) {
            answer.addProperty("event", "cancelled");
        }
        return Optional.empty();
    }

    private static String reason(AcquireResult result) {
        return result instanceof AcquireResult.Unavailable unavailable
                ? unavailable.rejection().reason().name()
                : result.getClass().getSimpleName();
    }

    private AcquireResult later(Way way, CompletableFuture<AcquireResult> future, AcquireOptions options)
            throws CancelledInTheMiddle {
        if (way == Way.ASYNC_CANCELLED) {
            stopping.within(random.nextInt((int) options.waitTime().toMillis() / 2));
            if (future.cancel(false)) {
                throw new CancelledInTheMiddle();
            }
        }
        try {
            return future.get(ASYNC_PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw new IllegalStateException("an acquire that waits at most 6 s was not answered after 12", e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RejectedException rejected) {
                throw rejected;
            }
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CancelledInTheMiddle();
        }
    }

    private void use(Lease lease, JsonObject granted, String op, long thinkMillis) {
        long until = LeaseWatch.untilNanos(lease);
        granted.addProperty("at", System.nanoTime());
        granted.addProperty("token", lease.token().value());
        granted.addProperty("grant", lease.grant().toString());
        granted.addProperty("until", until);
        history.write(granted);
        watch.add(lease, until);
        lease.onReleaseRequested(asked -> history.write(watch.about("release-requested", lease)));
        try {
            work(lease, op, thinkMillis);
        } finally {
            history.write(watch.about("releasing", lease));
            watch.remove(lease);
            String outcome = lease.release().name();
            JsonObject released = watch.about("released", lease);
            released.addProperty("outcome", outcome);
            history.write(released);
        }
    }

    private void work(Lease lease, String op, long thinkMillis) {
        Optional<Long> count = objects.read(lease).map(Visitor::count);
        if (lease.mode() == Mode.SHARED) {
            stopping.within(thinkMillis);
            objects.read(lease);
            return;
        }
        int writes = random.nextInt(3) == 0 ? 2 : 1;
        for (int i = 1; i <= writes && count.isPresent(); i++) {
            stopping.within(thinkMillis);
            if (!objects.write(lease, op + "-" + i, (count.get() + i) + " " + op + "-" + i)) {
                objects.read(lease); // Refused or unknown: it must read again before it could go on; it gives up.
                return;
            }
        }
    }

    /** Of the text {@code COUNT OP}, which names the increment that made it. */
    private static long count(String text) {
        return text.isEmpty() ? 0 : Long.parseLong(text.substring(0, text.indexOf(' ')));
    }

    /** The future was cancelled before it was answered. */
    private static final class CancelledInTheMiddle extends Exception {
        private static final long serialVersionUID = 1L;
    }
}
