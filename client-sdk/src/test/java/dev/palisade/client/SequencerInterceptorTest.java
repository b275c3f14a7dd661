package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.LocksGrpc;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** Any service of the user's stands in for the guarded one. */
class SequencerInterceptorTest extends Fixture {
    private final List<SignedSequencer> seen = new CopyOnWriteArrayList<>();

    @Test
    void everyCallCarriesTheSequencerAlsoAfterTheLeaseIsOver() throws IOException {
        Server guarded = InProcessServerBuilder.forName("guarded")
                .directExecutor()
                .addService(new LocksGrpc.LocksImplBase() {
                    @Override
                    public void describe(DescribeRequest request, StreamObserver<DescribeReply> out) {
                        out.onNext(DescribeReply.getDefaultInstance());
                        out.onCompleted();
                    }
                })
                .intercept(new ServerInterceptor() {
                    @Override
                    public <Q, A> ServerCall.Listener<Q> interceptCall(
                            ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
                        seen.add(SequencerHeader.require(headers));
                        return next.startCall(call, headers);
                    }
                })
                .build()
                .start();
        ManagedChannel channel =
                InProcessChannelBuilder.forName("guarded").directExecutor().build();
        try {
            Lease lease = held();
            LocksGrpc.LocksBlockingStub stub = lease.attach(LocksGrpc.newBlockingStub(channel));
            assertThat(stub.describe(DescribeRequest.getDefaultInstance())).isNotNull();
            lease.close();
            // A hint is not a fence: it sends, the guard decides.
            assertThat(stub.describe(DescribeRequest.getDefaultInstance())).isNotNull();
            assertThat(seen).containsExactly(lease.sequencer(), lease.sequencer());
        } finally {
            channel.shutdownNow();
            guarded.shutdownNow();
        }
    }
}
