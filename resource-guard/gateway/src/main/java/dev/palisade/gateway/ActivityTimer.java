package dev.palisade.gateway;

import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Bound on the silence within one exchange: runs an action once when nothing has moved in either direction for a time.
 * {@link #touch} is open to every thread; the rest happens on one event loop.
 */
final class ActivityTimer {
    private final EventLoop loop;
    private final long limitNanos;
    private final Runnable expired;
    private volatile long touchedNanos = System.nanoTime();
    private volatile boolean stopped;

    private volatile @Nullable Future<?> pending;

    ActivityTimer(EventLoop loop, Duration limit, Runnable expired) {
        this.loop = loop;
        this.limitNanos = limit.toNanos();
        this.expired = expired;
    }

    void start() {
        schedule(limitNanos);
    }

    void touch() {
        touchedNanos = System.nanoTime();
    }

    void stop() {
        stopped = true;
        Future<?> last = pending;
        if (last != null) {
            last.cancel(false);
        }
    }

    /** From now on the exchange as a whole ends after that time, whatever moves: only other calls wait for its end. */
    void limitTotal() {
        if (!stopped) {
            Future<?> last = loop.schedule(this::expire, limitNanos, TimeUnit.NANOSECONDS);
            if (stopped) {
                last.cancel(false);
            }
        }
    }

    private void schedule(long nanos) {
        pending = loop.schedule(this::check, nanos, TimeUnit.NANOSECONDS);
        if (stopped) {
            stop();
        }
    }

    private void check() {
        long left = limitNanos - (System.nanoTime() - touchedNanos);
        if (left > 0) {
            schedule(left);
        } else {
            expire();
        }
    }

    private void expire() {
        if (!stopped) {
            stopped = true;
            expired.run();
        }
    }
}
