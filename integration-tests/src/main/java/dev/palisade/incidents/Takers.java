package dev.palisade.incidents;

import dev.palisade.check.Granted;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/** The threads of one application that take locks, hold them for an instant, and write down what they were answered. */
final class Takers {
    private static final int THREADS = 2;
    private static final long PAUSE_NANOS = 2_000_000;
    private static final long HOLD_NANOS = 200_000;
    private static final long REST_NANOS = 30_000_000;

    private final Side side;
    private final Topology<?> topology;
    private final Ledger ledger;
    private final AtomicLong tries = new AtomicLong();
    private final List<Thread> threads;
    private volatile boolean stopping;
    private volatile boolean resting;

    Takers(Side side, Topology<?> topology, Ledger ledger) {
        this.side = side;
        this.topology = topology;
        this.ledger = ledger;
        threads = IntStream.range(0, THREADS)
                .mapToObj(i -> new Thread(this::work, side.name() + i))
                .toList();
        threads.forEach(thread -> {
            thread.setDaemon(true);
            thread.start();
        });
    }

    /** Whether the threads take nothing from now on; returns when their last tries must have been answered. */
    void rest(boolean rest) {
        resting = rest;
        if (rest) {
            LockSupport.parkNanos(REST_NANOS);
        }
    }

    /** One try by the caller's thread. */
    void takeOne() {
        long number = tries.incrementAndGet();
        Ledger.Place place = ledger.place(number);
        tryOnce(place, side.name(), side.name() + "-" + place.incident() + "-" + number);
    }

    /** Returns when the last of them has had its answer; one that hears none is left behind. */
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
            if (resting) {
                LockSupport.parkNanos(PAUSE_NANOS);
                continue;
            }
            long number = tries.incrementAndGet();
            Ledger.Place place = ledger.place(number);
            tryOnce(place, who, who + "-" + place.incident() + "-" + number);
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    /** Client libraries throw what they like when their connection goes away; then nobody knows. */
    private static Answer ask(TokenIssuer issuer, String lock, String owner) {
        try {
            return issuer.acquire(lock, owner);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new Answer.Unknown(e.toString());
        } catch (RuntimeException e) {
            return new Answer.Unknown(e.toString());
        }
    }

    private static void giveBack(TokenIssuer issuer, String lock, String owner) {
        try {
            issuer.release(lock, owner);
        } catch (RuntimeException e) {
            // It ends with its time.
        }
    }

    private void tryOnce(Ledger.Place place, String who, String owner) {
        TokenIssuer issuer = side.issuer();
        Map<String, String> eras = new HashMap<>();
        topology.nodes().forEach(node -> eras.put(node.name(), node.era()));
        long asked = System.nanoTime();
        Answer answer = ask(issuer, place.lock(), owner);
        long answered = System.nanoTime();
        if (answer instanceof Answer.Taken taken) {
            Node node = taken.node();
            // Asked in one era and answered in another, it is of either.
            boolean sameEra = node != null && node.era().equals(eras.get(node.name()));
            ledger.write(new Issued(
                    new Granted(who, issuer.counter(place.lock()), false, taken.token(), owner, asked, answered),
                    place.lock(),
                    node == null ? "" : node.name(),
                    node != null && sameEra ? node.era() : "",
                    place.incident()));
            LockSupport.parkNanos(HOLD_NANOS);
            giveBack(issuer, place.lock(), owner);
        } else if (answer instanceof Answer.Unknown unknown) {
            ledger.write(place, who, "unknown", unknown.why(), asked, answered);
        } else if (answer instanceof Answer.Refused refused && !refused.equals(Answer.HELD)) {
            ledger.write(place, who, "refused", refused.why(), asked, answered);
        }
    }
}
