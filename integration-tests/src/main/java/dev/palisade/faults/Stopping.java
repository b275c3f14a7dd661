package dev.palisade.faults;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** That it is time to stop, and the way to pass time until then. Safe for many threads. */
final class Stopping {
    private final CountDownLatch latch = new CountDownLatch(1);

    void stop() {
        latch.countDown();
    }

    boolean asked() {
        return latch.getCount() == 0;
    }

    /** Returns after {@code millis}, or as soon as it is time to stop: then true. */
    boolean within(long millis) {
        try {
            return latch.await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return true;
        }
    }
}
