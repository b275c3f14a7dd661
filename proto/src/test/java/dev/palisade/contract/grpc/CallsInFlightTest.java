package dev.palisade.contract.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class CallsInFlightTest {
    private final CallsInFlight inFlight = new CallsInFlight();

    @Test
    void whoStopsWaitsForEveryCallUntilItWasAnsweredOrCancelled() throws Exception {
        assertThat(none()).isTrue();
        ServerCall.Listener<String> answered = begin();
        ServerCall.Listener<String> cancelled = begin();
        assertThat(none()).isFalse();
        answered.onMessage("half of it");
        answered.onHalfClose();
        assertThat(none()).isFalse();
        answered.onComplete();
        assertThat(none()).isFalse();
        cancelled.onCancel();
        assertThat(none()).isTrue();
    }

    @Test
    void aCallThatCouldNotBeStartedIsNotWaitedFor() throws Exception {
        assertThatThrownBy(() -> inFlight.interceptCall(new Unused(), new Metadata(), (call, headers) -> {
                    throw new IllegalStateException("a bug");
                }))
                .hasMessage("a bug");
        assertThat(none()).isTrue();
    }

    @Test
    void whoWaitsIsToldAtTheLastCallsEndAndNotWhenTheTimeIsOver() throws Exception {
        ServerCall.Listener<String> call = begin();
        CompletableFuture<Boolean> waiting = new CompletableFuture<>();
        Thread waiter = new Thread(() -> {
            try {
                waiting.complete(inFlight.awaitNone(1, TimeUnit.HOURS));
            } catch (InterruptedException e) {
                waiting.completeExceptionally(e);
            }
        });
        waiter.start();
        while (waiter.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        call.onComplete();
        assertThat(waiting.get(60, TimeUnit.SECONDS)).isTrue();
    }

    private boolean none() throws InterruptedException {
        return inFlight.awaitNone(0, TimeUnit.NANOSECONDS);
    }

    private ServerCall.Listener<String> begin() {
        return inFlight.interceptCall(new Unused(), new Metadata(), (call, headers) -> new ServerCall.Listener<>() {});
    }

    /** Nothing here looks at the call itself. */
    private static final class Unused extends ServerCall<String, String> {
        @Override
        public void request(int messages) {}

        @Override
        public void sendHeaders(Metadata headers) {}

        @Override
        public void sendMessage(String message) {}

        @Override
        public void close(Status status, Metadata trailers) {}

        @Override
        public boolean isCancelled() {
            return false;
        }

        @Override
        public MethodDescriptor<String, String> getMethodDescriptor() {
            throw new UnsupportedOperationException();
        }
    }
}
