package dev.palisade.door;

import com.google.gson.JsonObject;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Stops one call at one step: the line {@code hold STEP} arms it, the next call at that step says {@code held} and waits
 * for the line {@code go}, or for the process to be killed. What happens is told as a line of JSON on standard output. It
 * decides nothing. Safe for many threads.
 */
final class StepGate {
    private final AtomicReference<@Nullable Step> armed = new AtomicReference<>();
    private volatile CountDownLatch going = new CountDownLatch(1);

    void hold(Step step) {
        going = new CountDownLatch(1);
        armed.set(step);
    }

    void go() {
        going.countDown();
    }

    /** Passes at once unless this call is the one to be held. */
    void pass(Step step) {
        if (armed.get() != step || !armed.compareAndSet(step, null)) {
            return;
        }
        CountDownLatch until = going;
        JsonObject held = event("held");
        held.addProperty("step", step.name());
        say(held);
        try {
            until.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** An event to be filled; {@code at} is the machine's monotonic clock in nanoseconds. */
    static JsonObject event(String name) {
        JsonObject event = new JsonObject();
        event.addProperty("event", name);
        event.addProperty("at", System.nanoTime());
        return event;
    }

    static synchronized void say(JsonObject event) {
        System.out.println(event);
    }
}
