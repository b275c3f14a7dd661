package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.LostReason;
import dev.palisade.proto.v1.Call.CallCase;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Libraries of another version than the client can run with: nothing is tried again, and every call says why. */
class LinkageTest {
    private static final String MISSING = "com/google/protobuf/Missing";

    private final FakeTime time = new FakeTime();
    private final ScriptedServer server = new ScriptedServer();
    private final List<BreakableChannel> channels = new ArrayList<>();

    @Test
    @Timeout(60)
    void aLinkageErrorInTheLoopFailsEveryCallAtOnce() {
        try (PalisadeClient client = client(Break.THROWS)) {
            CompletableFuture<AcquireResult> waiting = client.acquireAsync("a", Fixture.WAIT_MINUTE);
            assertThrownBy(waiting);
            assertThatThrownBy(() -> client.acquire("a"))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(MISSING);
            assertThatThrownBy(() -> client.describe("a"))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(MISSING);
            assertThatThrownBy(() -> client.operations().store())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(MISSING);
            time.advance(Duration.ofMinutes(1));
            assertThat(channels.get(0).calls).as("attempts to connect").isEqualTo(1);
        }
    }

    @Test
    @Timeout(60)
    void aLinkageErrorInsideGrpcFailsEveryCallAtOnce() {
        try (PalisadeClient client = client(Break.ENDS_CALLS)) {
            assertThrownBy(client.acquireAsync("a", Fixture.WAIT_MINUTE));
            time.advance(Duration.ofMinutes(1));
            assertThat(channels.get(0).calls).as("attempts to connect").isEqualTo(1);
        }
    }

    @Test
    @Timeout(60)
    void earlierLeasesAndAcquiresEndToo() {
        try (PalisadeClient client = client(Break.NOT)) {
            Lease lease = Fixture.leaseOf(client.acquireAsync("held", Fixture.TRY));
            Lease released = Fixture.leaseOf(client.acquireAsync("released", Fixture.TRY));
            server.script = server::queueAll;
            CompletableFuture<AcquireResult> first = client.acquireAsync("a", Fixture.WAIT_MINUTE);
            CompletableFuture<AcquireResult> behind = client.acquireAsync("a", Fixture.WAIT_MINUTE);
            server.script = call -> null;
            CompletableFuture<ReleaseOutcome> unconfirmed = released.releaseAsync();
            channels.get(0).how = Break.THROWS;
            server.link().breakOff();
            time.advance(Duration.ofSeconds(2));

            assertThrownBy(first);
            assertThrownBy(behind);
            assertThat(unconfirmed).isCompletedWithValue(ReleaseOutcome.UNKNOWN);
            assertThat(lease.isValid()).isFalse();
            assertThat(lease.lostReason()).contains(LostReason.SERVER_UNREACHABLE);
            assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
            assertThat(server.link().calls(CallCase.ACQUIRE)).isNotEmpty();
        }
    }

    private static void assertThrownBy(CompletableFuture<AcquireResult> future) {
        assertThat(future)
                .isCompletedExceptionally()
                .failsWithin(0, TimeUnit.SECONDS)
                .withThrowableThat()
                .havingCause()
                .isInstanceOf(IllegalStateException.class)
                .withMessageContaining(MISSING)
                .withMessageContaining("protobuf-java")
                .withMessageContaining("compatibility.md")
                .withCauseInstanceOf(NoClassDefFoundError.class);
    }

    private PalisadeClient client(Break how) {
        return PalisadeClient.builder()
                .servers("scripted:1")
                .channelFactory(address -> {
                    BreakableChannel channel = new BreakableChannel(server.channel(address), how);
                    channels.add(channel);
                    return channel;
                })
                .time(time.clocks(), time)
                .callbackExecutor(Runnable::run)
                .build();
    }

    private enum Break {
        NOT,
        THROWS,
        ENDS_CALLS
    }

    /** A channel that needs a class which is not there. */
    private static final class BreakableChannel extends ManagedChannel {
        private final ManagedChannel whole;
        private Break how;
        private int calls;

        BreakableChannel(ManagedChannel whole, Break how) {
            this.whole = whole;
            this.how = how;
        }

        @Override
        public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions options) {
            calls++;
            return switch (how) {
                case NOT -> whole.newCall(method, options);
                case THROWS -> throw new NoClassDefFoundError(MISSING);
                case ENDS_CALLS -> new EndedCall<>();
            };
        }

        @Override
        public String authority() {
            return whole.authority();
        }

        @Override
        public ManagedChannel shutdown() {
            return whole.shutdown();
        }

        @Override
        public boolean isShutdown() {
            return whole.isShutdown();
        }

        @Override
        public boolean isTerminated() {
            return whole.isTerminated();
        }

        @Override
        public ManagedChannel shutdownNow() {
            return whole.shutdownNow();
        }

        @Override
        public boolean awaitTermination(long timeout, TimeUnit unit) throws InterruptedException {
            return whole.awaitTermination(timeout, unit);
        }
    }

    /** As gRPC ends a call when its own code throws. */
    private static final class EndedCall<Q, A> extends ClientCall<Q, A> {
        @Override
        public void start(Listener<A> listener, Metadata headers) {
            Throwable cause = new IllegalStateException("panic", new NoClassDefFoundError(MISSING));
            listener.onClose(Status.INTERNAL.withCause(cause), new Metadata());
        }

        @Override
        public void request(int messages) {}

        @Override
        public void cancel(String message, Throwable cause) {}

        @Override
        public void halfClose() {}

        @Override
        public void sendMessage(Q message) {}
    }
}
