package dev.palisade.bench;

import dev.palisade.scenario.ScenarioFailed;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Takes a lock in each of many sessions every second, releases it, and keeps the longest time from a request until both are confirmed.
 * The sessions take turns, so that requests come evenly. A single session asks a hundred times as often, so that no gap escapes it. One
 * thread uses it.
 */
final class Askers implements AutoCloseable {
    private static final Duration INTERVAL = Duration.ofSeconds(1);
    private static final Duration ALONE = Duration.ofMillis(10);
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final AtomicLong NAMES = new AtomicLong();

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "askers");
        thread.setDaemon(true);
        return thread;
    });
    private final List<Asker> askers;
    private final long intervalNanos;

    Askers(List<HeldLeases> sessions) {
        intervalNanos = (sessions.size() == 1 ? ALONE : INTERVAL).toNanos();
        askers = sessions.stream().map(Asker::new).toList();
        for (int i = 0; i < askers.size(); i++) {
            later(askers.get(i), intervalNanos * i / askers.size());
        }
    }

    private void later(Asker asker, long nanos) {
        var unused = timer.schedule(asker::ask, nanos, TimeUnit.NANOSECONDS);
    }

    /** Returns when each session had its answer to a request that it sent after this call. */
    void awaitAnswers() throws InterruptedException {
        long since = System.nanoTime();
        while (askers.stream().anyMatch(asker -> asker.answeredNanos - since < 0)) {
            if (System.nanoTime() - since > PATIENCE.toNanos()) {
                throw new ScenarioFailed("a session has no answer within " + PATIENCE.toSeconds() + " s: " + failure());
            }
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }

    /** The same when that time is over. */
    void awaitAnswersAfter(Duration time) throws InterruptedException {
        TimeUnit.NANOSECONDS.sleep(time.toNanos());
        awaitAnswers();
    }

    private String failure() {
        return askers.stream()
                .filter(asker -> !asker.failed.isEmpty())
                .findFirst()
                .map(asker -> asker.failed)
                .orElse("none of them failed");
    }

    /** One for each session. */
    Samples longestWaits() {
        Samples waits = new Samples();
        askers.forEach(asker -> waits.add(asker.longestNanos));
        return waits;
    }

    @Override
    public void close() {
        timer.shutdownNow();
    }

    private final class Asker {
        private final HeldLeases session;
        /** When the last request was sent that was answered. */
        private volatile long answeredNanos = System.nanoTime() - 1;

        private volatile long longestNanos;
        private volatile String failed = "";
        /** When what is to be answered was first requested: a failure does not end the wait. */
        private long askedNanos;

        Asker(HeldLeases session) {
            this.session = session;
        }

        void ask() {
            askedNanos = System.nanoTime();
            request();
        }

        private void request() {
            var unused = session.takeOneMore("bench/one-more/" + NAMES.incrementAndGet())
                    .whenComplete((done, failure) -> {
                        if (failure == null) {
                            longestNanos = Math.max(longestNanos, System.nanoTime() - askedNanos);
                            answeredNanos = askedNanos;
                            later(this, intervalNanos);
                        } else {
                            failed = failure.toString();
                            retry();
                        }
                    });
        }

        private void retry() {
            var unused = timer.schedule(this::request, 10, TimeUnit.MILLISECONDS);
        }
    }
}
