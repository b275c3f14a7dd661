package dev.palisade.server.rpc;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.server.core.EndCause;
import dev.palisade.server.core.Limits;
import dev.palisade.server.engine.Timer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A registry of the open session streams. All of them end when the server stops. Streams without a session have not said hello, or
 * will say no more. They are limited in time and number: the oldest makes room for the next, so that a client with a session always
 * gets back in. Safe for use by many threads.
 */
final class Streams {
    /** Sweep interval for streams without a session. A stream that two consecutive sweeps find is ended, so it lives 5 to 10 s. */
    static final long SWEEP_MILLIS = 5_000;

    private static final Rejection STOPPING = new Rejection(
            Reason.STORE_UNAVAILABLE,
            "the lock server is stopping; open a stream to another or to its successor: leases and places in queues are kept",
            Map.of(Rejection.APPLIED, "no"));

    private final int max;
    private final long unsentBytesMax;
    private final Timer timer;
    private final AtomicLong unsentBytes = new AtomicLong();
    private final AtomicBoolean ending = new AtomicBoolean();
    private final Set<SessionStream> open = ConcurrentHashMap.newKeySet();
    /** Streams without a session in the order of their arrival, each with the number of sweeps before it. */
    private final Map<SessionStream, Long> unattached = new LinkedHashMap<>();

    private long sweeps;
    private boolean sweeping;
    private volatile boolean stopping;

    /**
     * @param max of streams without a session
     * @param unsentBytesMax of all streams together
     */
    Streams(int max, long unsentBytesMax, Timer timer) {
        this.max = max;
        this.unsentBytesMax = unsentBytesMax;
        this.timer = timer;
    }

    /** Adds a stream, which has no session yet. It may be ended at once. */
    void opened(SessionStream stream) {
        open.add(stream);
        if (stopping) {
            stream.end(STOPPING, EndCause.SERVER_STOPPED);
        } else {
            addUnattached(stream);
        }
    }

    /** The stream has no session yet, or will have none again. */
    void addUnattached(SessionStream stream) {
        SessionStream longest = null;
        synchronized (unattached) {
            unattached.put(stream, sweeps);
            if (unattached.size() > max) {
                longest = unattached.keySet().iterator().next();
            }
            if (!sweeping) {
                sweeping = true;
                timer.after(SWEEP_MILLIS, this::sweep);
            }
        }
        if (longest != null) {
            longest.end(
                    Limits.exceeded(
                                    "streamsMax",
                                    "streamsMax is " + max
                                            + ", of streams without a session; say hello at once, or use another server")
                            .with(Rejection.APPLIED, "no"),
                    EndCause.STREAM_REFUSED);
        }
    }

    /** The stream has a session now, or was notified that it ends. */
    void removeUnattached(SessionStream stream) {
        synchronized (unattached) {
            unattached.remove(stream);
        }
    }

    /** The transport has closed the stream. */
    void closed(SessionStream stream) {
        removeUnattached(stream);
        open.remove(stream);
    }

    /** What waits to be sent on some stream became more, or less. May be called under a stream's lock. */
    void unsent(long moreBytes) {
        if (unsentBytes.addAndGet(moreBytes) > unsentBytesMax && moreBytes > 0 && ending.compareAndSet(false, true)) {
            timer.after(0, this::endUnread);
        }
    }

    /** Ends the streams with the most unsent bytes, as few as are needed. */
    private void endUnread() {
        ending.set(false);
        while (unsentBytes.get() > unsentBytesMax) {
            SessionStream most = null;
            long bytes = 0;
            for (SessionStream stream : open) {
                if (stream.unsentBytes() > bytes) {
                    most = stream;
                    bytes = stream.unsentBytes();
                }
            }
            if (most == null) {
                return;
            }
            most.end(
                    Limits.exceeded(
                                    "unsentBytesMax",
                                    "unsentBytesMax is " + unsentBytesMax
                                            + " for all streams together, and this one has " + bytes
                                            + "; read what was answered, and open a newer stream")
                            .with(Rejection.APPLIED, "unknown"),
                    EndCause.NOT_READ);
        }
    }

    int open() {
        return open.size();
    }

    long unsentBytes() {
        return unsentBytes.get();
    }

    int unattached() {
        synchronized (unattached) {
            return unattached.size();
        }
    }

    private void sweep() {
        List<SessionStream> late = new ArrayList<>();
        synchronized (unattached) {
            unattached.forEach((stream, before) -> {
                if (before < sweeps && !stream.isWaiting()) {
                    late.add(stream);
                }
            });
            sweeps++;
            sweeping = unattached.size() > late.size();
            if (sweeping) {
                timer.after(SWEEP_MILLIS, this::sweep);
            }
        }
        late.forEach(SessionStream::endUnattached);
    }

    /** Ends the streams of clients whose rights are others now. */
    void accessChanged() {
        open.forEach(SessionStream::accessChanged);
    }

    /** The connections of all streams end next. */
    void authoritiesChanged() {
        open.forEach(stream -> stream.endsBy(EndCause.AUTHORITIES_CHANGED));
    }

    /** The connection from {@code peer} ends next. */
    void certificateExpired(String peer) {
        open.forEach(stream -> {
            if (stream.peer().equals(peer)) {
                stream.endsBy(EndCause.CERTIFICATE_EXPIRED);
            }
        });
    }

    /** Ends every stream, after what it has to say, and those that come from now on. */
    void stop() {
        stopping = true;
        for (SessionStream stream : open) {
            stream.flush();
            stream.end(STOPPING, EndCause.SERVER_STOPPED);
        }
    }
}
