package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.LocksGrpc;
import io.grpc.CallOptions;
import io.grpc.ClientStreamTracer;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ReplacedTransportTest {
    /** Throws inside gRPC where a call starts, as a channel does that is made idle just then. */
    private static final CallOptions THROWING =
            CallOptions.DEFAULT.withStreamTracerFactory(new ClientStreamTracer.Factory() {
                @Override
                public ClientStreamTracer newClientStreamTracer(ClientStreamTracer.StreamInfo info, Metadata headers) {
                    throw new IllegalStateException("Resolution is pending");
                }
            });

    private final EventLoop loop = new EventLoop();
    private final ManagedChannel channel =
            loop.channel("127.0.0.1:1", InsecureChannelCredentials.create(), builder -> builder);

    @AfterEach
    void close() {
        channel.shutdownNow();
        loop.stop();
    }

    @Test
    void aCallWhoseChannelIsMadeIdleFailsAsOneThatBroke() {
        call(CallOptions.DEFAULT, "io exception"); // Later calls start at once.
        call(THROWING, "the connection is being replaced");
    }

    private void call(CallOptions options, String message) {
        assertThatThrownBy(() -> ClientCalls.blockingUnaryCall(
                        channel, LocksGrpc.getDescribeMethod(), options, DescribeRequest.getDefaultInstance()))
                .isInstanceOfSatisfying(
                        StatusRuntimeException.class,
                        failure -> assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE))
                .hasMessageContaining(message);
    }
}
