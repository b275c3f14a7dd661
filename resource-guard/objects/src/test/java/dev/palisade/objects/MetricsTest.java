package dev.palisade.objects;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.palisade.admin.AdminServer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.grants.Grants;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.proto.v1.PutObjectRequest;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Metrics and health of the process, over HTTP, after real calls. */
class MetricsTest {
    private final Grants grants = new Grants();
    private final HttpClient http = HttpClient.newHttpClient();
    private ObjectsServer server;
    private ManagedChannel channel;

    @BeforeEach
    void start() throws Exception {
        InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        server = ObjectsServer.start(
                new ObjectsServer.Options(
                        anyPort,
                        anyPort,
                        null,
                        "jdbc:h2:mem:metrics;DB_CLOSE_DELAY=-1",
                        "",
                        "",
                        Grants.ISSUER,
                        LockTemplate.parse("{key}"),
                        new ObjectLimits(1 << 20, Duration.ofSeconds(5)),
                        new LogRetention(Duration.ofDays(30), 10_000),
                        true,
                        null),
                grants.verifier());
        channel = Grpc.newChannelBuilder("127.0.0.1:" + server.port(), InsecureChannelCredentials.create())
                .build();
    }

    @AfterEach
    void stop() throws Exception {
        channel.shutdownNow();
        server.drain(Duration.ofSeconds(1));
        server.close(Duration.ofSeconds(10));
    }

    @Test
    void showsAdmissionsAndRefusalsByReason() throws Exception {
        put(grants.exclusive("orders/42", 34));
        assertThatThrownBy(() -> put(grants.exclusive("orders/42", 33))).isInstanceOf(StatusRuntimeException.class);
        assertThatThrownBy(() -> put(null)).isInstanceOf(StatusRuntimeException.class);

        HttpResponse<String> metrics = get("/metrics");
        assertThat(metrics.headers().firstValue("content-type").orElse("")).startsWith("text/plain");
        assertThat(metrics.body())
                .contains("palisade_guard_admissions_total 1.0\n")
                .contains("palisade_guard_refusals_total{reason=\"TOKEN_STALE\"} 1.0\n")
                .contains("palisade_guard_refusals_total{reason=\"SEQUENCER_MISSING\"} 1.0\n")
                .contains("palisade_guard_refusals_total{reason=\"STORE_UNAVAILABLE\"} 0.0\n")
                .contains("palisade_guard_waiting 0.0\n")
                .doesNotContain("orders/42");
    }

    @Test
    void isReadyUntilItStops() throws Exception {
        assertThat(get("/health/ready").statusCode()).isEqualTo(200);
        server.drain(Duration.ofSeconds(1));
        HttpResponse<String> stopping = get("/health/ready");
        assertThat(stopping.statusCode()).isEqualTo(503);
        assertThat(stopping.body()).isEqualTo("not ready\n");
        assertThat(get("/health/live").statusCode()).isEqualTo(200);
    }

    private HttpResponse<String> get(String path) throws Exception {
        AdminServer admin = Objects.requireNonNull(server.admin());
        URI uri = URI.create("http://127.0.0.1:" + admin.port() + path);
        return http.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
    }

    private void put(@Nullable SignedSequencer sequencer) {
        Metadata headers = new Metadata();
        if (sequencer != null) {
            SequencerHeader.put(headers, sequencer);
        }
        var unused = ObjectsGrpc.newBlockingStub(channel)
                .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
                .put(PutObjectRequest.newBuilder()
                        .setKey("orders/42")
                        .setContent(ByteString.copyFromUtf8("text"))
                        .build());
    }
}
