package dev.palisade.cli.call;

import java.util.concurrent.TimeUnit;

/** Monotonic clock of a command, and its pauses between two attempts. A test replaces both. */
public interface RetryClock {
    /** The machine's. */
    RetryClock SYSTEM = new RetryClock() {
        @Override
        public long nanos() {
            return System.nanoTime();
        }

        @Override
        public void pause(long millis) throws InterruptedException {
            TimeUnit.MILLISECONDS.sleep(millis);
        }
    };

    /** Nanoseconds since an arbitrary moment. */
    long nanos();

    /**
     * Blocks for {@code millis}, 0 or more.
     *
     * @throws InterruptedException at once when the thread is interrupted
     */
    void pause(long millis) throws InterruptedException;
}
