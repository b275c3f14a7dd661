package dev.palisade.server.rpc;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.End;
import dev.palisade.server.core.Grant;
import dev.palisade.server.engine.LockEngine.AcquireParams;
import dev.palisade.server.rpc.AcquireTracer.Ending;
import dev.palisade.server.rpc.AcquireTracer.Trace;
import dev.palisade.server.rpc.AcquireTracer.Transport;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Table of the open spans of one stream's acquires. Has as many entries as the stream has undecided acquires and waits. Thread-safe;
 * without a tracer each method returns at once.
 */
final class AcquireTraces {
    private final @Nullable AcquireTracer tracer;
    private final Map<Key, Entry> open = new HashMap<>();
    private final Map<GrantId, Key> offered = new HashMap<>();
    private boolean closed;

    private record Key(LockName lock, long requestNumber) {}

    private static final class Entry {
        final Trace trace;

        @Nullable
        GrantId offer;

        Entry(Trace trace) {
            this.trace = trace;
        }
    }

    AcquireTraces(@Nullable AcquireTracer tracer) {
        this.tracer = tracer;
    }

    private static Key key(AcquireParams params) {
        return new Key(params.lock(), params.id().number());
    }

    /** An acquire arrived. One that repeats what is open goes on in the first one's span. */
    synchronized void begin(AcquireParams params, String traceparent) {
        AcquireTracer recorder = tracer;
        if (recorder != null && !closed) {
            open.computeIfAbsent(
                    key(params),
                    unused ->
                            new Entry(recorder.acquiring(params.lock(), params.mode(), Transport.STREAM, traceparent)));
        }
    }

    /** The answer to an acquire. */
    void answered(AcquireParams params, Answer answer) {
        if (tracer == null) {
            return;
        }
        if (answer instanceof Answer.Queued) {
            synchronized (this) {
                Entry entry = open.get(key(params));
                if (entry != null) {
                    entry.trace.queued();
                }
            }
        } else {
            end(key(params), trace -> end(trace, answer));
        }
    }

    /** Ends {@code trace} as the answer to an acquire or to an accept says. */
    static void end(Trace trace, Answer answer) {
        if (answer instanceof Answer.Granted granted) {
            trace.granted(granted.grant().token());
        } else if (answer instanceof Answer.Refused refused) {
            trace.refused(refused.rejection());
        } else if (answer instanceof Answer.WaitEnded over) {
            trace.ended(ending(over.end()));
        } else {
            trace.ended(answer instanceof Answer.Busy ? Ending.BUSY : Ending.LEFT);
        }
    }

    private static Ending ending(End end) {
        return switch (end) {
            case TIMED_OUT -> Ending.TIMED_OUT;
            case BUSY -> Ending.BUSY;
            case LEFT, RELEASED -> Ending.LEFT;
            case DROPPED, EXPIRED, ABANDONED, FORCE_RELEASED -> Ending.DROPPED;
        };
    }

    /** The lock is offered to an acquire that waited. */
    synchronized void offered(LockName lock, Grant grant) {
        Key key = new Key(lock, grant.request().id().number());
        Entry entry = open.get(key);
        if (entry != null) {
            entry.trace.offered(grant.token());
            entry.offer = grant.id();
            offered.put(grant.id(), key);
        }
    }

    /** The answer to the accept of an offer. After {@link Answer.Queued} the acquire waits again. */
    void accepted(GrantId grant, Answer answer) {
        if (tracer != null && !(answer instanceof Answer.Queued)) {
            end(keyOf(grant), trace -> end(trace, answer));
        }
    }

    /** An offer was declined. Does nothing for a lease. */
    void released(GrantId grant) {
        end(keyOf(grant), trace -> trace.ended(Ending.LEFT));
    }

    void left(LockName lock, long requestNumber) {
        end(new Key(lock, requestNumber), trace -> trace.ended(Ending.LEFT));
    }

    void waitEnded(LockName lock, long requestNumber, End end) {
        end(new Key(lock, requestNumber), trace -> trace.ended(ending(end)));
    }

    void refused(LockName lock, long requestNumber, Rejection why) {
        end(new Key(lock, requestNumber), trace -> trace.refused(why));
    }

    /** An acquire came to no command. One whose lock cannot have that name is not recorded. */
    void rejected(AcquireRequest request, String traceparent, Rejection why) {
        AcquireTracer recorder = tracer;
        if (recorder == null) {
            return;
        }
        try {
            recorder.acquiring(
                            ProtoCodec.lock(request.getLock()),
                            request.getMode() == dev.palisade.proto.v1.Mode.SHARED ? Mode.SHARED : Mode.EXCLUSIVE,
                            Transport.STREAM,
                            traceparent)
                    .refused(why);
        } catch (RejectedException e) {
            // Its reply says so.
        }
    }

    /** The stream ended, and with it all that is open. */
    void close() {
        List<Entry> left;
        synchronized (this) {
            closed = true;
            left = new ArrayList<>(open.values());
            open.clear();
            offered.clear();
        }
        left.forEach(entry -> entry.trace.ended(Ending.DISCONNECTED));
    }

    private synchronized @Nullable Key keyOf(GrantId grant) {
        return tracer == null ? null : offered.get(grant);
    }

    private void end(@Nullable Key key, Consumer<Trace> how) {
        if (key == null || tracer == null) {
            return;
        }
        Entry entry;
        synchronized (this) {
            entry = open.remove(key);
            if (entry != null && entry.offer != null) {
                offered.remove(Objects.requireNonNull(entry.offer));
            }
        }
        if (entry != null) {
            how.accept(entry.trace);
        }
    }
}
