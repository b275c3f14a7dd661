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
 * The session streams that are open: all of them end when the server stops. Those that are of no session, because they have not
 * said hello or will say no more, have little time, and there may be only so many: the one that is nobody's for the longest makes room
 * for the next, so that who has a session always gets back in. Safe for use by many threads.
 */
final class Streams {
    /** What is nobody's is looked at so often, and ended when it is looked at the second time. */
    static final long LOOK_MILLIS = 5_000;

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
    /** With the number of the look before; in the order of their coming. */
    private final Map<SessionStream, Long> nobodys = new LinkedHashMap<>();

    private long looks;
    private boolean looking;
    private volatile boolean stopping;

    /**
     * @param max of those that are nobody's
     * @param unsentBytesMax of all streams together
     */
    Streams(int max, long unsentBytesMax, Timer timer) {
        this.max = max;
        this.unsentBytesMax = unsentBytesMax;
        this.timer = timer;
    }

    /** One more, and nobody's yet. It may be ended at once. */
    void opened(SessionStream stream) {
        open.add(stream);
        if (stopping) {
            stream.end(STOPPING, EndCause.SERVER_STOPPED);
        } else {
            isNobodys(stream);
        }
    }

    /** It has no session yet, or will have none again. */
    void isNobodys(SessionStream stream) {
        SessionStream longest = null;
        synchronized (nobodys) {
            nobodys.put(stream, looks);
            if (nobodys.size() > max) {
                longest = nobodys.keySet().iterator().next();
            }
            if (!looking) {
                looking = true;
                timer.after(LOOK_MILLIS, this::look);
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

    /** It has a session now, or was told that it ends. */
    void isNotNobodys(SessionStream stream) {
        synchronized (nobodys) {
            nobodys.remove(stream);
        }
    }

    /** The transport is done with it. */
    void closed(SessionStream stream) {
        isNotNobodys(stream);
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

    int nobodys() {
        synchronized (nobodys) {
            return nobodys.size();
        }
    }

    private void look() {
        List<SessionStream> late = new ArrayList<>();
        synchronized (nobodys) {
            nobodys.forEach((stream, before) -> {
                if (before < looks && !stream.isWaiting()) {
                    late.add(stream);
                }
            });
            looks++;
            looking = nobodys.size() > late.size();
            if (looking) {
                timer.after(LOOK_MILLIS, this::look);
            }
        }
        late.forEach(SessionStream::endNobodys);
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
