package dev.palisade.server.rpc;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.server.engine.Timer;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The session streams that are open, with or without a hello: how many there may be, how long one may go without a hello, and
 * that all of them end when the server stops. Safe for use by many threads.
 */
final class Streams {
    /** A stream that has not said who it is by then is ended; it holds nothing. */
    static final long HELLO_MILLIS = 10_000;

    private static final Rejection STOPPING = new Rejection(
            Reason.STORE_UNAVAILABLE,
            "the lock server is stopping; open a stream to another or to its successor: leases and places in queues are kept",
            Map.of(Rejection.APPLIED, "no"));

    private final int max;
    private final Timer timer;
    private final Set<SessionStream> open = ConcurrentHashMap.newKeySet();
    private volatile boolean stopping;

    Streams(int max, Timer timer) {
        this.max = max;
        this.timer = timer;
    }

    /** One more. It may be ended at once. */
    void opened(SessionStream stream) {
        if (open.size() >= max) {
            stream.end(new Rejection(
                    Reason.LIMIT_EXCEEDED,
                    "streamsMax is " + max + "; close idle clients or use another server",
                    Map.of(Rejection.LIMIT, "streamsMax", Rejection.APPLIED, "no")));
            return;
        }
        open.add(stream);
        if (stopping) {
            stream.end(STOPPING);
            return;
        }
        timer.after(HELLO_MILLIS, stream::endWithoutHello);
    }

    void ended(SessionStream stream) {
        open.remove(stream);
    }

    /** Ends every stream, after what it has to say, and those that come from now on. */
    void stop() {
        stopping = true;
        for (SessionStream stream : open) {
            stream.flush();
            stream.end(STOPPING);
        }
    }
}
