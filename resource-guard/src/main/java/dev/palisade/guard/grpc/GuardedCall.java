package dev.palisade.guard.grpc;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.guard.Admission;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Guard;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.StatusRuntimeException;
import io.grpc.SynchronizationContext;
import java.lang.System.Logger.Level;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Listener of one guarded call from its headers to its end. It reads the first message, waits for the guard without
 * blocking a thread, and then starts the handler. The handler gets the events that have arrived meanwhile, in order.
 * Later messages of a stream are checked before the handler gets them.
 *
 * <p>Everything runs in one {@link SynchronizationContext}, on the thread of the event: gRPC's, the guard's or the
 * handler's own. The handler of a call that had to wait starts on the guard's executor.
 */
final class GuardedCall<Q, R> extends ServerCall.Listener<Q> {
    private static final System.Logger LOG = System.getLogger(GuardedCall.class.getName());

    private final Guard guard;
    private final Route route;
    private final SignedSequencer signed;
    private final ServerCall<Q, R> call;
    private final Metadata headers;
    private final ServerCallHandler<Q, R> next;
    private final Context context = Context.current();
    private final SynchronizationContext syncContext = new SynchronizationContext(
            (thread, failure) -> LOG.log(Level.ERROR, "a guarded call failed; what it holds stays closed", failure));

    // Accessed in syncContext only.
    private Set<Binding> resources = Set.of();
    private boolean ready;
    private boolean halfClosed;
    private boolean over;

    @Nullable
    private CompletableFuture<Admission> entering;

    @Nullable
    private HandlerDriver<Q, R> driver;

    GuardedCall(
            Guard guard,
            Route route,
            SignedSequencer signed,
            ServerCall<Q, R> call,
            Metadata headers,
            ServerCallHandler<Q, R> next) {
        this.guard = guard;
        this.route = route;
        this.signed = signed;
        this.call = call;
        this.headers = headers;
        this.next = next;
    }

    /**
     * Requests the first message. For a call with a single message it requests two, as the handler would: the end of
     * the call comes with the message. A later request would cost a switch to the transport's thread and back.
     */
    void begin() {
        call.request(ahead());
    }

    private int ahead() {
        return hasOneMessage() ? 2 : 1;
    }

    private boolean hasOneMessage() {
        return call.getMethodDescriptor().getType().clientSendsOneMessage();
    }

    @Override
    public void onMessage(Q message) {
        syncContext.execute(() -> {
            if (driver != null && driver.hasFirst()) {
                deliverChecked(driver, message);
            } else if (entering != null) {
                refuseSecond(entering);
            } else if (!over) {
                enter(message);
            }
        });
    }

    @Override
    public void onHalfClose() {
        syncContext.execute(() -> {
            halfClosed = true;
            if (driver != null) {
                driver.halfClose();
            } else if (entering == null && !over) {
                refuse(new Rejection(
                        Reason.MALFORMED_REQUEST,
                        "the call of " + route.method() + " ended without a message to name its lock; send one"));
            }
        });
    }

    @Override
    public void onReady() {
        syncContext.execute(() -> {
            ready = true;
            if (driver != null) {
                driver.ready();
            }
        });
    }

    @Override
    public void onCancel() {
        syncContext.execute(() -> {
            over = true;
            if (entering != null) {
                entering.cancel(false);
            }
            if (driver != null) {
                driver.cancel();
            }
        });
    }

    /**
     * Also for a call that gRPC closed itself, because a message could not be decoded: its handler must not start
     * any more.
     */
    @Override
    public void onComplete() {
        syncContext.execute(() -> {
            over = true;
            if (entering != null) {
                entering.cancel(false);
            }
            if (driver != null) {
                driver.complete();
            }
        });
    }

    private void enter(Q message) {
        CompletableFuture<Admission> admission;
        try {
            resources = route.resources(message);
            admission = guard.enterAsync(
                    signed,
                    route.access(),
                    route.check(),
                    AdmissionTimeout.of(context),
                    resources.toArray(Binding[]::new));
        } catch (RuntimeException e) {
            refuse(Route.rejection(e));
            return;
        }
        entering = admission;
        if (admission.isDone() && !admission.isCompletedExceptionally()) {
            start(admission.join(), message);
            return;
        }
        var unused = admission.whenComplete((admitted, failure) -> syncContext.execute(() -> {
            if (failure != null) {
                reply(Route.rejection(failure));
            } else if (over) {
                admitted.close();
            } else {
                start(admitted, message);
            }
        }));
    }

    private void start(Admission admission, Q first) {
        HandlerDriver<Q, R> started = new HandlerDriver<>(call, admission, context, syncContext, first, ahead());
        driver = started;
        started.start(next, headers);
        if (ready) {
            started.ready();
        }
        if (halfClosed) {
            started.halfClose();
        }
        if (call.getMethodDescriptor().getType() != MethodType.UNARY) {
            admission.onSuperseded(() -> stop(
                    started,
                    guard.refusal()
                            .filter(why -> guard.refusesEveryCall())
                            .map(this::stopped)
                            .orElseGet(() -> superseded(admission))));
        }
    }

    private void deliverChecked(HandlerDriver<Q, R> started, Q message) {
        try {
            Set<Binding> named = route.resources(message);
            if (!named.equals(resources)) {
                throw new Rejection(
                                Reason.WRONG_RESOURCE,
                                "a later message of " + route.method() + " names " + Route.names(named)
                                        + ", the first named " + Route.names(resources)
                                        + "; it was not applied, earlier ones may have been: use one call for each lock")
                        .asException();
            }
            started.message(message);
        } catch (RejectedException e) {
            var unused = guard.recordRefusal(e.rejection());
            stop(started, e.rejection());
        }
    }

    /** The client sent a second message to a method that takes one, before the handler could reject it. */
    private void refuseSecond(CompletableFuture<Admission> waiting) {
        Rejection why = new Rejection(
                Reason.MALFORMED_REQUEST,
                "a second message came for " + route.method() + ", which takes one; send one");
        if (driver != null) {
            var unused = guard.recordRefusal(why);
            stop(driver, why);
        } else if (!over) {
            refuse(why);
            waiting.cancel(false);
        }
    }

    /** @param why the reason why the guard admits no call any more */
    private Rejection stopped(Rejection why) {
        return new Rejection(
                why.reason(),
                why.message() + "; this call on " + Route.names(resources)
                        + " was stopped, what it did before may have been applied: read again, redo");
    }

    private Rejection superseded(Admission admission) {
        Rejection stale = new Rejection(
                Reason.TOKEN_STALE,
                "a newer grant waits for " + Route.names(resources)
                        + "; this call was stopped, what it did before may have been applied: acquire, read again, redo");
        return admission
                .sequencer()
                .map(mine -> stale.with(Rejection.PRESENTED_TOKEN, mine.token().toString())
                        .with(Rejection.LOCK, mine.lock().value()))
                .orElse(stale);
    }

    private void stop(HandlerDriver<Q, R> started, Rejection why) {
        StatusRuntimeException failure = Rejections.toStatus(why.with(Rejection.APPLIED, "unknown"));
        started.stop(failure.getStatus(), Route.trailers(failure));
    }

    /** Refuses a call before the guard has seen it. */
    private void refuse(Rejection rejection) {
        var unused = guard.recordRefusal(rejection);
        reply(rejection);
    }

    private void reply(Rejection rejection) {
        if (!over) {
            over = true;
            Route.refuse(call, rejection);
        }
    }
}
