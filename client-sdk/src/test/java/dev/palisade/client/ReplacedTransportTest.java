package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.LocksGrpc;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptors;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import org.junit.jupiter.api.Test;

class ReplacedTransportTest {
    /** As gRPC's does while it is made idle. */
    private static final Channel IDLE = new Channel() {
        @Override
        public <Q, R> ClientCall<Q, R> newCall(MethodDescriptor<Q, R> method, CallOptions options) {
            return new ClientCall<>() {
                @Override
                public void start(Listener<R> listener, Metadata headers) {
                    throw new IllegalStateException("Resolution is pending");
                }

                @Override
                public void request(int messages) {}

                @Override
                public void cancel(String message, Throwable cause) {}

                @Override
                public void halfClose() {}

                @Override
                public void sendMessage(Q message) {}
            };
        }

        @Override
        public String authority() {
            return "idle";
        }
    };

    @Test
    void aCallWhoseChannelIsMadeIdleFailsAsOneThatBroke() {
        Channel channel = ClientInterceptors.intercept(IDLE, new ReplacedTransport());
        assertThatThrownBy(() -> LocksGrpc.newBlockingStub(channel).describe(DescribeRequest.getDefaultInstance()))
                .isInstanceOfSatisfying(
                        StatusRuntimeException.class,
                        failure -> assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE))
                .hasMessageContaining("the connection is being replaced");
    }
}
