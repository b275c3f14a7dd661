package dev.palisade.bench;

import dev.palisade.scenario.ScenarioFailed;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Periodic probes of many sessions: each takes a lock and releases it every second, evenly distributed, and keeps the
 * longest time until both were confirmed. A single session is probed a hundred times as often, to detect every gap. One
 * thread uses it.
 */
final class SessionProbes implements AutoCloseable {
    private static final Duration INTERVAL = Duration.ofSeconds(1);
    private static final Duration SINGLE_INTERVAL = Duration.ofMillis(10);
    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final AtomicLong NAMES = new AtomicLong();

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "session-probes");
        thread.setDaemon(true);
        return thread;
    });
    private final List<Probe> probes;
    private final long intervalNanos;

    SessionProbes(List<HeldLeases> sessions) {
        intervalNanos = (sessions.size() == 1 ? SINGLE_INTERVAL : INTERVAL).toNanos();
        probes = sessions.stream().map(Probe::new).toList();
        for (int i = 0; i < probes.size(); i++) {
            schedule(probes.get(i), intervalNanos * i / probes.size());
        }
    }

    private void schedule(Probe probe, long nanos) {
        var unused = timer.schedule(probe::start, nanos, TimeUnit.NANOSECONDS);
    }

    /** Returns when each session has a reply to a request that it sent after this call. */
    void awaitReplies() throws InterruptedException {
        long since = System.nanoTime();
        while (probes.stream().anyMatch(probe -> probe.confirmedNanos - since < 0)) {
            if (System.nanoTime() - since > TIMEOUT.toNanos()) {
                throw new ScenarioFailed("a session has no answer within " + TIMEOUT.toSeconds() + " s: " + failure());
            }
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }

    /** Waits for {@code time}, then {@link #awaitReplies}. */
    void awaitRepliesAfter(Duration time) throws InterruptedException {
        TimeUnit.NANOSECONDS.sleep(time.toNanos());
        awaitReplies();
    }

    private String failure() {
        return probes.stream()
                .filter(probe -> !probe.failed.isEmpty())
                .findFirst()
                .map(probe -> probe.failed)
                .orElse("none of them failed");
    }

    /** The longest wait of each session. */
    Samples longestWaits() {
        Samples waits = new Samples();
        probes.forEach(probe -> waits.add(probe.longestNanos));
        return waits;
    }

    @Override
    public void close() {
        timer.shutdownNow();
    }

    private final class Probe {
        private final HeldLeases session;
        /** Start of the last confirmed probe. */
        private volatile long confirmedNanos = System.nanoTime() - 1;

        private volatile long longestNanos;
        private volatile String failed = "";
        /** Start of the current probe, including its retries. */
        private long askedNanos;

        Probe(HeldLeases session) {
            this.session = session;
        }

        void start() {
            askedNanos = System.nanoTime();
            request();
        }

        private void request() {
            var unused = session.takeOneMore("bench/one-more/" + NAMES.incrementAndGet())
                    .whenComplete((done, failure) -> {
                        if (failure == null) {
                            longestNanos = Math.max(longestNanos, System.nanoTime() - askedNanos);
                            confirmedNanos = askedNanos;
                            schedule(this, intervalNanos);
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
