package dev.palisade.proxy;

import com.google.gson.JsonObject;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import io.grpc.stub.StreamObserver;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Observer of one forwarded call: reports its end to the guard, and the storage's reply to the caller, once. A
 * failure that the storage itself did not send leaves the outcome unknown.
 */
final class ForwardedCall<R> implements StreamObserver<R> {
    private final String key;
    private final ForwardedAdmission admission;
    private final StreamObserver<R> caller;
    private final Breakpoint breakpoint;
    private final AtomicBoolean replied = new AtomicBoolean();
    private volatile Runnable onAnswer = () -> {};
    private @Nullable R value;

    ForwardedCall(String key, ForwardedAdmission admission, StreamObserver<R> caller, Breakpoint breakpoint) {
        this.key = key;
        this.admission = admission;
        this.caller = caller;
        this.breakpoint = breakpoint;
    }

    void onAnswer(Runnable what) {
        onAnswer = what;
    }

    /** The caller no longer waits for the storage. */
    void timedOut() {
        if (replied.compareAndSet(false, true)) {
            outcomeUnknown("no answer in time");
        }
    }

    @Override
    public void onNext(R answer) {
        value = answer;
    }

    @Override
    public void onCompleted() {
        breakpoint.pass(Step.ANSWERED);
        ended();
        R answer = value;
        if (markReplied() && answer != null) {
            caller.onNext(answer);
            caller.onCompleted();
        }
    }

    @Override
    public void onError(Throwable failure) {
        Optional<Rejection> refused =
                Rejections.ofThrowable(failure).filter(rejection -> rejection.reason() != Reason.OUTCOME_UNKNOWN);
        if (refused.isPresent()) {
            ended();
            if (markReplied()) {
                caller.onError(Rejections.toStatus(refused.get()));
            }
        } else if (markReplied()) {
            outcomeUnknown(String.valueOf(failure.getMessage()));
        }
    }

    private boolean markReplied() {
        onAnswer.run();
        return replied.compareAndSet(false, true);
    }

    private void ended() {
        admission.close();
        if (replied.get()) {
            Breakpoint.say(event("seen-again"));
        }
    }

    private void outcomeUnknown(String why) {
        admission.outcomeUnknown();
        JsonObject event = event("outcome-unknown");
        event.addProperty("why", why);
        Breakpoint.say(event);
        caller.onError(Rejections.toStatus(new Rejection(
                Reason.OUTCOME_UNKNOWN,
                "the storage behind the proxy did not answer (" + why + "); read again",
                Map.of(Rejection.APPLIED, "unknown"))));
    }

    private JsonObject event(String name) {
        JsonObject event = Breakpoint.event(name);
        event.addProperty("key", key);
        return event;
    }
}
