package dev.palisade.guard.s3;

import static dev.palisade.guard.s3.FencedS3Test.text;
import static dev.palisade.guard.s3.Granted.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpServer;
import dev.palisade.contract.Reason;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.Binding;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.S3Exception;

/**
 * Requests that are signed: those of {@link FencedS3}, and those with a sequencer in a header, on a store that
 * verifies them.
 */
class SignedRequestsTest {
    private static final SdkHttpClient HTTP = UrlConnectionHttpClient.create();
    private static S3ProxyServer server;
    private final Granted grants = new Granted("orders/42");

    @BeforeAll
    static void start() throws Exception {
        server = new S3ProxyServer();
        client(HTTP, S3ProxyServer.SECRET).createBucket(request -> request.bucket("data"));
    }

    @AfterAll
    static void stop() throws IOException {
        server.close();
        HTTP.close();
    }

    private static S3Client client(SdkHttpClient http, String secret) {
        return TestS3.builder(server.endpoint(), S3ProxyServer.USER, secret)
                .httpClient(http)
                .build();
    }

    @Test
    void guardedCallsAreSignedAsOthers() throws IOException {
        Binding order = Binding.of("orders/42");
        FencedS3 fenced = FencedS3.open(client(HTTP, S3ProxyServer.SECRET), "data", grants.verifier());
        fenced.write(grants.exclusive(33), order, RequestBody.fromString("paid"));
        assertThat(text(fenced.read(grants.exclusive(34), order))).contains("paid");
        refused(() -> fenced.write(grants.exclusive(33), order, RequestBody.fromString("late")), Reason.TOKEN_STALE);
        fenced.delete(grants.exclusive(34), order);
        assertThat(text(fenced.read(grants.exclusive(35), order))).isEmpty();
        assertThatThrownBy(() -> FencedS3.open(client(HTTP, "wrong"), "data", grants.verifier()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("cannot be tried");
    }

    @Test
    void addedSequencerLeavesTheSignatureValid() {
        SignedSequencer sequencer = grants.exclusive(34);
        S3Client client = client(SequencerHttpClient.create(HTTP, () -> sequencer), S3ProxyServer.SECRET);
        client.putObject(request -> request.bucket("data").key("a b/ü"), RequestBody.fromString("body"));
        assertThat(client.getObjectAsBytes(request -> request.bucket("data").key("a b/ü"))
                        .asUtf8String())
                .isEqualTo("body");
        S3Client wrong = client(SequencerHttpClient.create(HTTP, () -> sequencer), "wrong");
        assertThatThrownBy(
                        () -> wrong.headObject(request -> request.bucket("data").key("a b/ü")))
                .as("signatures are verified")
                .isInstanceOfSatisfying(
                        S3Exception.class, e -> assertThat(e.statusCode()).isEqualTo(403));
    }

    /** What removes a signed header makes the request invalid. */
    @Test
    void eachRequestHasTheSequencerAndDoesNotSignIt() throws IOException {
        List<Headers> seen = new CopyOnWriteArrayList<>();
        HttpServer recorder = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        recorder.createContext("/", exchange -> {
            seen.add(exchange.getRequestHeaders());
            exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        recorder.start();
        try {
            SignedSequencer[] current = {grants.exclusive(34)};
            URI endpoint =
                    URI.create("http://127.0.0.1:" + recorder.getAddress().getPort());
            S3Client client = TestS3.builder(endpoint, "user", "secret")
                    .httpClient(SequencerHttpClient.create(HTTP, () -> current[0]))
                    .build();
            client.putObject(request -> request.bucket("data").key("k"), RequestBody.fromString("body"));
            current[0] = grants.exclusive(35);
            client.deleteObject(request -> request.bucket("data").key("k"));
            assertThat(seen)
                    .extracting(headers -> headers.get(SequencerHttpClient.HEADER))
                    .containsExactly(
                            List.of(grants.exclusive(34).toText()),
                            List.of(grants.exclusive(35).toText()));
            assertThat(seen)
                    .extracting(headers -> headers.getFirst("Authorization"))
                    .allSatisfy(authorization -> assertThat(authorization)
                            .contains("SignedHeaders=")
                            .contains("x-amz-date")
                            .doesNotContainIgnoringCase(SequencerHttpClient.HEADER));
            seen.clear();
            S3Client intercepted = TestS3.builder(endpoint, "user", "secret")
                    .httpClient(HTTP)
                    .overrideConfiguration(options -> options.addExecutionInterceptor(new AddsTheHeader()))
                    .build();
            intercepted.deleteObject(request -> request.bucket("data").key("k"));
            assertThat(seen.get(0).getFirst("Authorization"))
                    .as("why it is no interceptor")
                    .containsIgnoringCase(SequencerHttpClient.HEADER);
        } finally {
            recorder.stop(0);
        }
    }

    private static final class AddsTheHeader implements ExecutionInterceptor {
        @Override
        public SdkHttpRequest modifyHttpRequest(Context.ModifyHttpRequest context, ExecutionAttributes attributes) {
            return context.httpRequest().toBuilder()
                    .putHeader(SequencerHttpClient.HEADER, "text")
                    .build();
        }
    }
}
