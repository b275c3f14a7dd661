package dev.palisade.server.rpc;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.Rejection;
import dev.palisade.server.core.Answer;
import dev.palisade.server.engine.LockEngine.AcquireParams;
import dev.palisade.server.engine.PendingUnaryCaller;
import dev.palisade.server.rpc.AcquireTracer.Ending;
import dev.palisade.server.rpc.AcquireTracer.Trace;
import dev.palisade.server.rpc.AcquireTracer.Transport;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** The caller of a unary acquire, and the span of it. */
record TracedAcquire(
        AcquireParams params, Caller caller, @Nullable Trace trace) implements PendingUnaryCaller {
    /** Of the current call. */
    static TracedAcquire begin(@Nullable AcquireTracer tracer, AcquireParams params, Caller caller) {
        return new TracedAcquire(
                params,
                caller,
                tracer == null
                        ? null
                        : tracer.acquiring(params.lock(), params.mode(), Transport.UNARY, Traceparent.current()));
    }

    @Override
    public Optional<Rejection> denied() {
        return caller.deniedWaiting(params.mode(), params.lock());
    }

    @Override
    public void queued() {
        if (trace != null) {
            trace.queued();
        }
    }

    @Override
    public void offered(FencingToken token) {
        if (trace != null) {
            trace.offered(token);
        }
    }

    /** The caller is gone, and the call may have no result. */
    void broke() {
        if (trace != null) {
            trace.ended(Ending.DISCONNECTED);
        }
    }

    /** {@code call}, whose result ends the span. */
    CompletionStage<Answer> ending(CompletionStage<Answer> call) {
        Trace open = trace;
        if (open == null) {
            return call;
        }
        return call.whenComplete((answer, failure) -> {
            if (failure == null) {
                AcquireTraces.end(open, answer);
            } else {
                open.ended(Ending.DISCONNECTED);
            }
        });
    }
}
