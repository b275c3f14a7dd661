package dev.palisade.objects;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.Rejections;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Dispatcher of the calls of the rpc services to the bounded executor, with their sequencers and deadlines. It
 * starts no call that was cancelled or whose deadline has passed, and never replies with a bare UNKNOWN.
 */
final class CallDispatcher {
    private static final Logger log = LoggerFactory.getLogger(CallDispatcher.class);
    private static final Duration NO_DEADLINE = Duration.ofHours(1);

    private final BoundedExecutor executor;
    private final EventLog events;
    private final Refusals refusals;

    /** @param events the log for operators, for a database that fails */
    CallDispatcher(BoundedExecutor executor, EventLog events, Refusals refusals) {
        this.executor = executor;
        this.events = events;
        this.refusals = refusals;
    }

    /** Work of a call, which returns its reply. */
    interface Call<R> {
        R run(ObjectStore.Caller caller) throws SQLException;
    }

    /** @param writes whether an unforeseen failure may have left something applied */
    <R> void dispatch(String verb, boolean writes, StreamObserver<R> observer, Call<R> call) {
        ServerCallStreamObserver<R> reply = (ServerCallStreamObserver<R>) observer;
        // With a handler in place, answering a cancelled call is a no-op instead of an exception.
        reply.setOnCancelHandler(() -> {});
        Context context = Context.current();
        byte @Nullable [] header = SequencerCapture.BYTES.get(context);
        try {
            executor.submit(() -> run(verb, writes, reply, call, context, header));
        } catch (RejectedException e) {
            refuse(reply, e.rejection());
        }
    }

    private void refuse(ServerCallStreamObserver<?> reply, Rejection rejection) {
        refusals.refused(rejection);
        reply.onError(Rejections.toStatus(rejection));
    }

    private <R> void run(
            String verb,
            boolean writes,
            ServerCallStreamObserver<R> reply,
            Call<R> call,
            Context context,
            byte @Nullable [] header) {
        R answer;
        try {
            Deadline deadline = context.getDeadline();
            Duration patience =
                    deadline == null ? NO_DEADLINE : Duration.ofMillis(deadline.timeRemaining(TimeUnit.MILLISECONDS));
            if (reply.isCancelled() || context.isCancelled() || patience.toMillis() < 1) {
                reply.onError(Status.CANCELLED
                        .withDescription("cancelled before it was started; not applied")
                        .asRuntimeException());
                return;
            }
            SignedSequencer signed = header == null ? null : SignedSequencer.of(header);
            answer = call.run(new ObjectStore.Caller(signed, patience));
        } catch (RejectedException e) {
            refuse(reply, e.rejection());
            return;
        } catch (SQLException e) {
            // Thrown before the commit only, and rolled back: a commit without an answer is OUTCOME_UNKNOWN already.
            events.tell("database_failed", "call", verb, "applied", "no", "failure", e);
            reply.onError(
                    failed(Reason.STORE_UNAVAILABLE, verb + " failed in the database; nothing was applied", "no"));
            return;
        } catch (RuntimeException | Error e) {
            log.error("{}: a bug, or this process is in trouble", verb, e);
            Reason reason = writes ? Reason.OUTCOME_UNKNOWN : Reason.STORE_UNAVAILABLE;
            reply.onError(failed(
                    reason, verb + " failed in the service, see its log; read again", writes ? "unknown" : "no"));
            return;
        }
        reply.onNext(answer);
        reply.onCompleted();
    }

    private RuntimeException failed(Reason reason, String message, String applied) {
        refusals.failed(reason);
        return Rejections.toStatus(new Rejection(reason, message, Map.of(Rejection.APPLIED, applied)));
    }
}
