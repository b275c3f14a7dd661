package dev.palisade.faults;

import com.google.gson.JsonObject;
import dev.palisade.client.Lease;
import dev.palisade.scenario.History;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Writes down how long the leases of this process are believed to hold: the end of each is asked for again and again, and
 * told when it has moved, so each renewal is seen. A moment is taken before the asking, so what is written is never
 * later than what was believed. A lost lease goes on being asked until it is released: it must never be valid again.
 */
final class LeaseWatch implements AutoCloseable {
    private static final long EVERY_MILLIS = 40;
    private static final long MOVED_NANOS = 20_000_000;

    private final History history;
    private final Stopping stopping = new Stopping();
    private final Map<Lease, Long> untilNanos = new ConcurrentHashMap<>();

    LeaseWatch(History history) {
        this.history = history;
        Thread thread = new Thread(this::watch, "lease-watch");
        thread.setDaemon(true);
        thread.start();
    }

    /** Until when {@code lease} is believed from now on. */
    static long untilNanos(Lease lease) {
        long before = System.nanoTime();
        return before + lease.validFor().toNanos();
    }

    /** @param until what was written about it already */
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

    private void watch() {
        while (!stopping.within(EVERY_MILLIS)) {
            untilNanos.forEach(this::look);
        }
    }

    private void look(Lease lease, long known) {
        JsonObject event = about("valid", lease);
        long before = event.get("at").getAsLong();
        long left = lease.validFor().toNanos();
        boolean revived = lease.lostReason().isPresent() && lease.isValid();
        if (revived || (left > 0 && before + left > known + MOVED_NANOS)) {
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
        stopping.stop();
    }
}
