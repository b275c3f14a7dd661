package dev.palisade.faults;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A one-shot latch that stops worker threads, with an interruptible pause. Safe for many threads. */
final class StopLatch {
    private final CountDownLatch latch = new CountDownLatch(1);

    void stop() {
        latch.countDown();
    }

    boolean isStopped() {
        return latch.getCount() == 0;
    }

    /** Blocks for {@code millis}, or until {@link #stop}. Returns whether it was stopped. */
    boolean await(long millis) {
        try {
            return latch.await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return true;
        }
    }
}
