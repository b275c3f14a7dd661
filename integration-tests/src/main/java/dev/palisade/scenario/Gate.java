package dev.palisade.scenario;

import com.google.gson.JsonObject;
import dev.palisade.client.Lease;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Where the threads of a client process wait between their read and their write: each says {@code about} and goes on at the
 * line {@code go OP}, so that whoever started the process can stop it right there. The other end is {@link Gatekeeper}.
 * Safe for many threads.
 */
final class Gate {
    private static final long PATIENCE_SECONDS = 60;

    private final History history;
    private final Map<String, CountDownLatch> announced = new ConcurrentHashMap<>();
    private volatile boolean open;

    Gate(History history) {
        this.history = history;
    }

    /** Says that {@code text} is about to be written under {@code lease} as {@code op}, and waits for {@link #go}. */
    void await(Lease lease, String op, String text) {
        CountDownLatch latch = new CountDownLatch(1);
        announced.put(op, latch);
        JsonObject event = history.event("about");
        event.addProperty("lock", lease.lock().value());
        event.addProperty("token", lease.token().value());
        event.addProperty("op", op);
        event.addProperty("content", text);
        history.write(event);
        try {
            if (!open && !latch.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                throw new ScenarioFailed("nobody said go " + op);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    void go(String op) {
        CountDownLatch latch = announced.remove(op);
        if (latch != null) {
            latch.countDown();
        }
    }

    /** Lets everyone pass, from now on. */
    void open() {
        open = true;
        announced.values().forEach(CountDownLatch::countDown);
    }
}
