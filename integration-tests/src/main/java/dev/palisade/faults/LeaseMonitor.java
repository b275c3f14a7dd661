package dev.palisade.faults;

import com.google.gson.JsonObject;
import dev.palisade.client.Lease;
import dev.palisade.scenario.History;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Monitor of the leases of this process: polls the end of each lease and records every change, so that renewals are
 * visible. The clock is read before the lease, so a recorded end is never later than the end that the client assumes. A
 * lost lease is polled until its release, because it must never become valid again.
 */
final class LeaseMonitor implements AutoCloseable {
    private static final long PERIOD_MILLIS = 40;
    private static final long RENEWAL_NANOS_MIN = 20_000_000;

    private final History history;
    private final StopLatch stopLatch = new StopLatch();
    private final Map<Lease, Long> untilNanos = new ConcurrentHashMap<>();

    LeaseMonitor(History history) {
        this.history = history;
        Thread thread = new Thread(this::poll, "lease-poll");
        thread.setDaemon(true);
        thread.start();
    }

    /** The current end of the validity of {@code lease}. */
    static long untilNanos(Lease lease) {
        long before = System.nanoTime();
        return before + lease.validFor().toNanos();
    }

    /** @param until the end that was recorded already */
    void add(Lease lease, long until) {
        untilNanos.put(lease, until);
        lease.onLost(reason -> {
            JsonObject event = about("lost", lease);
            event.addProperty("reason", reason.name());
            history.write(event);
        });
    }

    void remove(Lease lease) {
        untilNanos.remove(lease);
    }

    private void poll() {
        while (!stopLatch.await(PERIOD_MILLIS)) {
            untilNanos.forEach(this::check);
        }
    }

    private void check(Lease lease, long known) {
        JsonObject event = about("valid", lease);
        long before = event.get("at").getAsLong();
        long left = lease.validFor().toNanos();
        boolean revived = lease.lostReason().isPresent() && lease.isValid();
        if (revived || (left > 0 && before + left > known + RENEWAL_NANOS_MIN)) {
            event.addProperty("until", before + left);
            if (untilNanos.replace(lease, before + left) != null) {
                history.write(event);
            }
        }
    }

    JsonObject about(String name, Lease lease) {
        JsonObject event = history.event(name);
        event.addProperty("lock", lease.lock().value());
        event.addProperty("token", lease.token().value());
        event.addProperty("grant", lease.grant().toString());
        return event;
    }

    @Override
    public void close() {
        stopLatch.stop();
    }
}
