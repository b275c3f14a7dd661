package dev.palisade.door;

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
 * One call that is with the storage: tells the guard how it ended and the caller what it was answered, the caller once. What
 * is no answer of the storage itself says nothing about the end of the call.
 */
final class Forwarded<R> implements StreamObserver<R> {
    private final String key;
    private final Stay stay;
    private final StreamObserver<R> caller;
    private final StepGate gate;
    private final AtomicBoolean told = new AtomicBoolean();
    private volatile Runnable onAnswer = () -> {};
    private @Nullable R value;

    Forwarded(String key, Stay stay, StreamObserver<R> caller, StepGate gate) {
        this.key = key;
        this.stay = stay;
        this.caller = caller;
        this.gate = gate;
    }

    void onAnswer(Runnable what) {
        onAnswer = what;
    }

    /** Nobody waits for the storage any more. */
    void tooLate() {
        if (told.compareAndSet(false, true)) {
            outcomeUnknown("no answer in time");
        }
    }

    @Override
    public void onNext(R answer) {
        value = answer;
    }

    @Override
    public void onCompleted() {
        gate.pass(Step.ANSWERED);
        ended();
        R answer = value;
        if (tellFirst() && answer != null) {
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
            if (tellFirst()) {
                caller.onError(Rejections.toStatus(refused.get()));
            }
        } else if (tellFirst()) {
            outcomeUnknown(String.valueOf(failure.getMessage()));
        }
    }

    private boolean tellFirst() {
        onAnswer.run();
        return told.compareAndSet(false, true);
    }

    private void ended() {
        stay.close();
        if (told.get()) {
            StepGate.say(event("seen-again"));
        }
    }

    private void outcomeUnknown(String why) {
        stay.outcomeUnknown();
        JsonObject event = event("outcome-unknown");
        event.addProperty("why", why);
        StepGate.say(event);
        caller.onError(Rejections.toStatus(new Rejection(
                Reason.OUTCOME_UNKNOWN,
                "the storage behind the door did not answer (" + why + "); read again",
                Map.of(Rejection.APPLIED, "unknown"))));
    }

    private JsonObject event(String name) {
        JsonObject event = StepGate.event(name);
        event.addProperty("key", key);
        return event;
    }
}
