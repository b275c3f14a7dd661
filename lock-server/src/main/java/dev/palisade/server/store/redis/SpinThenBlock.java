package dev.palisade.server.store.redis;

import io.netty.channel.SelectStrategy;
import io.netty.util.IntSupplier;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Spin-then-block strategy of the {@link Loop}: after a call to Redis the loop polls its sockets for 100 µs before it blocks. A Redis nearby
 * replies in less time than a thread takes to block and wake. Where replies take longer, fewer and fewer calls are polled for, so that a
 * distant Redis costs no processor time. Belongs to the loop.
 */
final class SpinThenBlock implements SelectStrategy {
    static final long SPIN_NANOS = TimeUnit.MICROSECONDS.toNanos(100);
    /** Calls between two that are polled for, where no reply comes in time. */
    static final int SKIPS_MAX = 64;

    private final LongSupplier nanos;
    private boolean spins;
    private long sentNanos;
    /** Calls that are not polled for, from now on. */
    private int skips;
    /** The same after the next reply that is late. */
    private int nextSkips = 1;

    SpinThenBlock(LongSupplier nanos) {
        this.nanos = nanos;
    }

    /** Calls were sent to Redis. */
    void sent() {
        spins = skips == 0;
        skips = Math.max(0, skips - 1);
        sentNanos = nanos.getAsLong();
    }

    /** A connection has the replies to all of its calls. */
    void replied() {
        if (spins) {
            spins = false;
            nextSkips = 1;
        }
    }

    /** Yields the processor while it polls: with few of them, Redis may need this one. */
    @SuppressWarnings("ThreadPriorityCheck") // For speed alone.
    @Override
    public int calculateStrategy(IntSupplier ready, boolean hasTasks) throws Exception {
        if (hasTasks) {
            return ready.get();
        }
        if (!spins) {
            return SelectStrategy.SELECT;
        }
        if (nanos.getAsLong() - sentNanos >= SPIN_NANOS) {
            spins = false;
            skips = nextSkips;
            nextSkips = Math.min(2 * nextSkips, SKIPS_MAX);
            return SelectStrategy.SELECT;
        }
        Thread.yield();
        return SelectStrategy.BUSY_WAIT;
    }
}
