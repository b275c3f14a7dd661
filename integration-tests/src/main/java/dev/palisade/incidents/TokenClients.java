package dev.palisade.incidents;

import dev.palisade.check.Granted;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/** The client threads of one application: acquire locks, hold them briefly, and log every outcome. */
final class TokenClients {
    private static final int THREADS = 2;
    private static final long PAUSE_NANOS = 2_000_000;
    private static final long HOLD_NANOS = 200_000;
    private static final long REPLY_NANOS_MAX = 30_000_000;

    private final AppProcess app;
    private final Topology<?> topology;
    private final TokenLog tokenLog;
    private final AtomicLong attempts = new AtomicLong();
    private final List<Thread> threads;
    private volatile boolean stopping;
    private volatile boolean paused;

    TokenClients(AppProcess app, Topology<?> topology, TokenLog tokenLog) {
        this.app = app;
        this.topology = topology;
        this.tokenLog = tokenLog;
        threads = IntStream.range(0, THREADS)
                .mapToObj(i -> new Thread(this::work, app.name() + i))
                .toList();
        threads.forEach(thread -> {
            thread.setDaemon(true);
            thread.start();
        });
    }

    /** Pauses or resumes the threads. Returns after the last attempts must have ended. */
    void pause(boolean pause) {
        paused = pause;
        if (pause) {
            LockSupport.parkNanos(REPLY_NANOS_MAX);
        }
    }

    /** Makes one attempt on the caller's thread. */
    void acquireOnce() {
        long number = attempts.incrementAndGet();
        TokenLog.Attempt attempt = tokenLog.attempt(number);
        attemptOnce(attempt, app.name(), app.name() + "-" + attempt.incident() + "-" + number);
    }

    /** Stops the threads. A thread without a reply is abandoned. */
    void stop() {
        stopping = true;
        for (Thread thread : threads) {
            try {
                thread.join(5_000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    private void work() {
        String who = Thread.currentThread().getName();
        while (!stopping) {
            if (paused) {
                LockSupport.parkNanos(PAUSE_NANOS);
                continue;
            }
            long number = attempts.incrementAndGet();
            TokenLog.Attempt attempt = tokenLog.attempt(number);
            attemptOnce(attempt, who, who + "-" + attempt.incident() + "-" + number);
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    /** Client libraries throw various exceptions when a connection breaks; the outcome is unknown then. */
    private static AttemptOutcome acquire(TokenIssuer issuer, String lock, String owner) {
        try {
            return issuer.acquire(lock, owner);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new AttemptOutcome.Unknown(e.toString());
        } catch (RuntimeException e) {
            return new AttemptOutcome.Unknown(e.toString());
        }
    }

    private static void release(TokenIssuer issuer, String lock, String owner) {
        try {
            issuer.release(lock, owner);
        } catch (RuntimeException e) {
            // The lease expires.
        }
    }

    private void attemptOnce(TokenLog.Attempt attempt, String who, String owner) {
        TokenIssuer issuer = app.issuer();
        Map<String, String> incarnations = new HashMap<>();
        topology.nodes().forEach(node -> incarnations.put(node.name(), node.incarnation()));
        long asked = System.nanoTime();
        AttemptOutcome outcome = acquire(issuer, attempt.lock(), owner);
        long answered = System.nanoTime();
        if (outcome instanceof AttemptOutcome.Taken taken) {
            Node node = taken.node();
            // With a change during the call, the incarnation is unknown.
            boolean sameIncarnation = node != null && node.incarnation().equals(incarnations.get(node.name()));
            tokenLog.write(new IssuedToken(
                    new Granted(who, issuer.counter(attempt.lock()), false, taken.token(), owner, asked, answered),
                    attempt.lock(),
                    node == null ? "" : node.name(),
                    node != null && sameIncarnation ? node.incarnation() : "",
                    attempt.incident()));
            LockSupport.parkNanos(HOLD_NANOS);
            release(issuer, attempt.lock(), owner);
        } else if (outcome instanceof AttemptOutcome.Unknown unknown) {
            tokenLog.write(attempt, who, "unknown", unknown.why(), asked, answered);
        } else if (outcome instanceof AttemptOutcome.Refused refused && !refused.equals(AttemptOutcome.HELD)) {
            tokenLog.write(attempt, who, "refused", refused.why(), asked, answered);
        }
    }
}
