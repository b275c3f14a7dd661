package dev.palisade.proxy;

import com.google.gson.JsonObject;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Breakpoint that stops one call at one step. The line {@code hold STEP} arms it. The next call at that step reports
 * {@code held}, and waits for the line {@code go} or for the end of the process. Events are lines of JSON on
 * standard output. It decides nothing. Thread-safe.
 */
final class Breakpoint {
    private final AtomicReference<@Nullable Step> armed = new AtomicReference<>();
    private volatile CountDownLatch going = new CountDownLatch(1);

    void hold(Step step) {
        going = new CountDownLatch(1);
        armed.set(step);
    }

    void go() {
        going.countDown();
    }

    /** Returns at once unless this call is the one to be held. */
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

    /** A new event; {@code at} is the machine's monotonic clock in nanoseconds. */
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
