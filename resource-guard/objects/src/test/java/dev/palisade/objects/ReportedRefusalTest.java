package dev.palisade.objects;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.grants.Grants;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.proto.v1.PutObjectRequest;
import dev.palisade.proto.v1.ReportRefusalsReply;
import dev.palisade.proto.v1.ReportRefusalsRequest;
import dev.palisade.proto.v1.ReportedRefusal;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** The object store reports a stale write to the lock server that it was told. */
class ReportedRefusalTest {
    private final Grants grants = new Grants();

    private static void put(ManagedChannel channel, Metadata headers) {
        var unused = ObjectsGrpc.newBlockingStub(channel)
                .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
                .put(PutObjectRequest.newBuilder().setKey("orders/42").build());
    }

    private Metadata with(long token) {
        Metadata headers = new Metadata();
        SequencerHeader.put(headers, grants.exclusive("orders/42", token));
        return headers;
    }

    @Test
    void aStaleWriteIsReported() throws Exception {
        CompletableFuture<ReportRefusalsRequest> report = new CompletableFuture<>();
        Server locks = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
                .addService(new LocksGrpc.LocksImplBase() {
                    @Override
                    public void reportRefusals(
                            ReportRefusalsRequest request, StreamObserver<ReportRefusalsReply> reply) {
                        report.complete(request);
                        reply.onNext(ReportRefusalsReply.getDefaultInstance());
                        reply.onCompleted();
                    }
                })
                .build()
                .start();
        LockServerOptions options = new LockServerOptions();
        new CommandLine(CommandLine.Model.CommandSpec.create()
                        .addMixin("lock", CommandLine.Model.CommandSpec.forAnnotatedObject(options)))
                .parseArgs("--lock-server", "127.0.0.1:" + locks.getPort());
        ObjectsServer server = ObjectsServer.start(
                new ObjectsServer.Options(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        null,
                        null,
                        "jdbc:h2:mem:reported;DB_CLOSE_DELAY=-1",
                        "",
                        "",
                        Grants.ISSUER,
                        LockTemplate.parse("{key}"),
                        new ObjectLimits(1 << 20, Duration.ofSeconds(5)),
                        new LogRetention(Duration.ofDays(30), 10_000),
                        true,
                        options.open(Grants.ISSUER, "palisade objects at test")),
                grants.verifier());
        ManagedChannel channel = Grpc.newChannelBuilder(
                        "127.0.0.1:" + server.port(), InsecureChannelCredentials.create())
                .build();
        try {
            put(channel, with(34));
            assertThatThrownBy(() -> put(channel, with(33))).isInstanceOf(StatusRuntimeException.class);
            ReportRefusalsRequest request = report.get(60, TimeUnit.SECONDS);
            assertThat(request.getGuard()).isEqualTo("palisade objects at test");
            ReportedRefusal refusal = request.getRefusals(0);
            assertThat(refusal.getLock()).isEqualTo("orders/42");
            assertThat(refusal.getReason()).isEqualTo("TOKEN_STALE");
            assertThat(refusal.getPresentedToken()).isEqualTo(33);
            assertThat(refusal.getMarkToken()).isEqualTo(34);
        } finally {
            channel.shutdownNow();
            server.drain(Duration.ofSeconds(1));
            server.close(Duration.ofSeconds(10));
            locks.shutdownNow();
        }
    }
}
