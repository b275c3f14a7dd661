package dev.palisade.server.store.redis;

import io.netty.channel.SelectStrategy;
import io.netty.util.IntSupplier;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * How the {@link Loop} waits: for a moment after a call it looks for the reply again and again, and sleeps then. Redis replies in less time
 * than a thread takes to fall asleep and wake. Other threads that are ready go first. Belongs to the loop.
 */
final class ReplyWatch implements SelectStrategy {
    /** Longer than an append takes on one machine, or in one rack. */
    static final long LOOKS_NANOS = TimeUnit.MICROSECONDS.toNanos(100);

    private final LongSupplier nanos;
    private boolean awaits;
    private long calledNanos;

    ReplyWatch(LongSupplier nanos) {
        this.nanos = nanos;
    }

    /** Something was sent to Redis. */
    void called() {
        awaits = true;
        calledNanos = nanos.getAsLong();
    }

    /** There is a reply to all that was sent on a connection. */
    void replied() {
        awaits = false;
    }

    /** Yields for speed alone: with few processors Redis may need this one. */
    @SuppressWarnings("ThreadPriorityCheck")
    @Override
    public int calculateStrategy(IntSupplier ready, boolean hasTasks) throws Exception {
        if (hasTasks) {
            return ready.get();
        }
        if (!awaits || nanos.getAsLong() - calledNanos >= LOOKS_NANOS) {
            return SelectStrategy.SELECT;
        }
        Thread.yield();
        return SelectStrategy.BUSY_WAIT;
    }
}
