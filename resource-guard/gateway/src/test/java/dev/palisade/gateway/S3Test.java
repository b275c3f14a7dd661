package dev.palisade.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.s3.SequencerHttpClient;
import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import org.gaul.s3proxy.S3Proxy;
import org.gaul.s3proxy.auth.AuthenticationType;
import org.gaul.s3proxy.nio2blob.TransientNio2BlobStore;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.apache5.Apache5HttpClient;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3Configuration;
import software.amazon.awssdk.services.s3.model.ChecksumAlgorithm;
import software.amazon.awssdk.services.s3.model.CompletedPart;
import software.amazon.awssdk.services.s3.model.ObjectIdentifier;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.S3Exception;
import software.amazon.awssdk.services.s3.presigner.S3Presigner;

/** A bucket behind the gateway, with the SDK of AWS as its client, on a store that verifies signatures. */
class S3Test {

    /** Stays behind: gateways are closed in the background. */
    @TempDir(cleanup = CleanupMode.NEVER)
    Path directory;

    private static final StaticCredentialsProvider CREDENTIALS =
            StaticCredentialsProvider.create(AwsBasicCredentials.create("user", "secret"));

    private static S3Proxy store;
    private final String bucket = "b" + UUID.randomUUID();
    private GatewayFixture gateway;

    @BeforeAll
    static void startStore() throws Exception {
        store = S3Proxy.builder()
                .endpoint(URI.create("http://127.0.0.1:0"))
                .awsAuthentication(AuthenticationType.AWS_V4, "user", "secret")
                .blobStore(new TransientNio2BlobStore())
                .build();
        store.start();
    }

    @AfterAll
    static void stopStore() throws Exception {
        store.stop();
    }

    @BeforeEach
    void start() {
        direct().createBucket(request -> request.bucket(bucket));
        gateway = GatewayFixture.of(directory, """
                unknown-outcome-timeout: 60s
                upstream:
                  addresses: 127.0.0.1:%d
                routes:
                  - path: /%s/{key*}
                    lock: "{key}"
                  - path: /{bucket}
                    methods: [GET, HEAD]
                    access: unguarded
                """.formatted(store.getPort(), bucket));
    }

    @AfterEach
    void stop() {
        gateway.close();
    }

    private S3Client direct() {
        return client(UrlConnectionHttpClient.create(), store.getPort(), "secret");
    }

    private S3Client holder(String lock, long token) {
        return holder(lock, token, "secret");
    }

    private S3Client holder(String lock, long token, String secret) {
        SignedSequencer sequencer = SignedSequencer.ofText(gateway.locks.exclusive(lock, token));
        return client(
                SequencerHttpClient.create(UrlConnectionHttpClient.create(), () -> sequencer),
                gateway.gateway.port(),
                secret);
    }

    private static S3Client client(SdkHttpClient http, int port, String secret, ExecutionInterceptor... interceptors) {
        return S3Client.builder()
                .endpointOverride(URI.create("http://127.0.0.1:" + port))
                .forcePathStyle(true)
                .region(Region.US_EAST_1)
                .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("user", secret)))
                .httpClient(http)
                .overrideConfiguration(options -> options.executionInterceptors(List.of(interceptors)))
                .build();
    }

    private static S3Exception refusal(Runnable call) {
        return catchThrowableOfType(S3Exception.class, call::run);
    }

    private String stored(String key) {
        return direct().getObjectAsBytes(request -> request.bucket(bucket).key(key))
                .asUtf8String();
    }

    @Test
    void objectIsPutReadAndDeletedWithItsSignature() {
        String key = "orders/a b+ü~(1)/42.json";
        S3Client holder = holder(key, 33);
        holder.putObject(
                request -> request.bucket(bucket).key(key).metadata(Map.of("by", "me")),
                RequestBody.fromString("paid"));
        assertThat(stored(key)).isEqualTo("paid");
        assertThat(holder.getObjectAsBytes(request -> request.bucket(bucket).key(key))
                        .asUtf8String())
                .isEqualTo("paid");
        assertThat(holder.headObject(request -> request.bucket(bucket).key(key)).metadata())
                .containsEntry("by", "me");
        assertThat(holder.listObjectsV2(request -> request.bucket(bucket).prefix("orders/a b"))
                        .contents())
                .hasSize(1);
        assertThat(refusal(() -> holder(key, 33, "wrong")
                                .headObject(request -> request.bucket(bucket).key(key)))
                        .statusCode())
                .as("the store verifies what it gets")
                .isEqualTo(403);
        holder.deleteObject(request -> request.bucket(bucket).key(key));
        assertThat(direct().listObjectsV2(request -> request.bucket(bucket)).contents())
                .isEmpty();
    }

    /** In the SDK's own words: the reason is the error's code, and no attempt is repeated. */
    @Test
    void staleTokenIsA409WithItsReason() {
        holder("orders/42", 34).putObject(at("orders/42"), RequestBody.fromString("newer"));
        S3Client late = holder("orders/42", 33);
        for (Runnable call : List.<Runnable>of(
                () -> late.putObject(at("orders/42"), RequestBody.fromString("late")),
                () -> late.getObjectAsBytes(request -> request.bucket(bucket).key("orders/42")),
                () -> late.deleteObject(request -> request.bucket(bucket).key("orders/42")))) {
            S3Exception refused = refusal(call);
            assertThat(refused.statusCode()).isEqualTo(409);
            assertThat(refused.awsErrorDetails().errorCode()).isEqualTo("TOKEN_STALE");
            assertThat(refused.getMessage())
                    .contains("token 33")
                    .contains("Status Code: 409")
                    .contains("SDK Attempt Count: 1");
        }
        assertThat(stored("orders/42")).isEqualTo("newer");
        S3Exception none = refusal(() -> client(UrlConnectionHttpClient.create(), gateway.gateway.port(), "secret")
                .putObject(at("orders/42"), RequestBody.fromString("x")));
        assertThat(none.statusCode()).isEqualTo(428);
        assertThat(none.awsErrorDetails().errorCode()).isEqualTo("SEQUENCER_MISSING");
    }

    /** A client that waits for 100 Continue gets the refusal in its place. The JDK's shows the status alone. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void largeStaleUploadIsRefusedBeforeItsBody(boolean jdk) {
        holder("orders/42", 34).putObject(at("orders/42"), RequestBody.fromString("newer"));
        SignedSequencer late = SignedSequencer.ofText(gateway.locks.exclusive("orders/42", 33));
        try (SdkHttpClient http = jdk ? UrlConnectionHttpClient.create() : Apache5HttpClient.create()) {
            S3Client client = client(SequencerHttpClient.create(http, () -> late), gateway.gateway.port(), "secret");
            S3Exception stale =
                    refusal(() -> client.putObject(at("orders/42"), RequestBody.fromBytes(new byte[3 << 20])));
            assertThat(stale.statusCode()).isEqualTo(409);
            assertThat(stale.numAttempts()).isEqualTo(1);
            assertThat(stale.awsErrorDetails().errorCode()).isEqualTo(jdk ? null : "TOKEN_STALE");
        }
        assertThat(stored("orders/42")).isEqualTo("newer");
    }

    private PutObjectRequest at(String key) {
        return PutObjectRequest.builder().bucket(bucket).key(key).build();
    }

    /** What the SDK has signed, as it is sent. */
    private static final class Signed implements ExecutionInterceptor {
        private final List<SdkHttpRequest> requests = new CopyOnWriteArrayList<>();

        @Override
        public void beforeTransmission(Context.BeforeTransmission context, ExecutionAttributes attributes) {
            requests.add(context.httpRequest());
        }
    }

    @Test
    void chunksWithATrailerAndExpectContinuePass() {
        Signed signed = new Signed();
        SignedSequencer sequencer = SignedSequencer.ofText(gateway.locks.exclusive("orders/42", 33));
        S3Client holder = client(
                SequencerHttpClient.create(UrlConnectionHttpClient.create(), () -> sequencer),
                gateway.gateway.port(),
                "secret",
                signed);
        byte[] body = new byte[3 << 20];
        new Random(1).nextBytes(body);
        holder.putObject(
                at("orders/42").toBuilder()
                        .checksumAlgorithm(ChecksumAlgorithm.CRC32)
                        .build(),
                RequestBody.fromContentProvider(() -> new ByteArrayInputStream(body), body.length, "text/plain"));
        SdkHttpRequest sent = signed.requests.get(0);
        assertThat(sent.firstMatchingHeader("x-amz-content-sha256"))
                .hasValueSatisfying(
                        hash -> assertThat(hash).startsWith("STREAMING-").endsWith("-TRAILER"));
        assertThat(sent.firstMatchingHeader("x-amz-trailer")).hasValue("x-amz-checksum-crc32");
        assertThat(sent.firstMatchingHeader("Expect")).hasValue("100-continue");
        assertThat(sent.firstMatchingHeader("Authorization"))
                .hasValueSatisfying(header ->
                        assertThat(header).contains("host;").doesNotContainIgnoringCase(SequencerHttpClient.HEADER));
        assertThat(direct().getObjectAsBytes(request -> request.bucket(bucket).key("orders/42"))
                        .asByteArray())
                .isEqualTo(body);
    }

    @Test
    void allCallsOfAMultipartUploadAreGuardedWrites() {
        S3Client holder = holder("orders/42", 33);
        String upload = holder.createMultipartUpload(
                        request -> request.bucket(bucket).key("orders/42"))
                .uploadId();
        byte[] first = new byte[5 << 20];
        List<CompletedPart> parts = List.of(
                part(holder, upload, 1, RequestBody.fromBytes(first)),
                part(holder, upload, 2, RequestBody.fromString("end")));
        S3Client newer = holder("orders/42", 34);
        assertThat(refusal(() -> newer.headObject(
                                request -> request.bucket(bucket).key("orders/42")))
                        .statusCode())
                .as("not there yet; the mark is raised")
                .isEqualTo(404);
        for (Runnable late : List.<Runnable>of(
                () -> part(holder, upload, 3, RequestBody.fromString("late")),
                () -> complete(holder, upload, parts),
                () -> holder.abortMultipartUpload(
                        request -> request.bucket(bucket).key("orders/42").uploadId(upload)),
                () -> holder.createMultipartUpload(
                        request -> request.bucket(bucket).key("orders/42")))) {
            assertThat(refusal(late).awsErrorDetails().errorCode()).isEqualTo("TOKEN_STALE");
        }
        assertThat(direct().listObjectsV2(request -> request.bucket(bucket)).contents())
                .isEmpty();
        complete(newer, upload, parts);
        assertThat(direct().headObject(request -> request.bucket(bucket).key("orders/42"))
                        .contentLength())
                .isEqualTo(first.length + 3);
    }

    private CompletedPart part(S3Client client, String upload, int number, RequestBody body) {
        String tag = client.uploadPart(
                        request -> request.bucket(bucket)
                                .key("orders/42")
                                .uploadId(upload)
                                .partNumber(number),
                        body)
                .eTag();
        return CompletedPart.builder().partNumber(number).eTag(tag).build();
    }

    private void complete(S3Client client, String upload, List<CompletedPart> parts) {
        client.completeMultipartUpload(request ->
                request.bucket(bucket).key("orders/42").uploadId(upload).multipartUpload(all -> all.parts(parts)));
    }

    @Test
    void presignedUrlPassesWithASequencerBesideIt() throws Exception {
        try (S3Presigner presigner = S3Presigner.builder()
                .endpointOverride(URI.create("http://127.0.0.1:" + gateway.gateway.port()))
                .serviceConfiguration(
                        S3Configuration.builder().pathStyleAccessEnabled(true).build())
                .region(Region.US_EAST_1)
                .credentialsProvider(CREDENTIALS)
                .build()) {
            URI put = presigner
                    .presignPutObject(request ->
                            request.signatureDuration(Duration.ofMinutes(10)).putObjectRequest(at("a b/ü+")))
                    .url()
                    .toURI();
            String sequencer = gateway.locks.exclusive("a b/ü+", 33);
            HttpRequest.Builder request = HttpRequest.newBuilder(put).header("Fencing-Sequencer", sequencer);
            assertThat(gateway.send(request.PUT(BodyPublishers.ofString("text")))
                            .statusCode())
                    .isEqualTo(200);
            assertThat(stored("a b/ü+")).isEqualTo("text");
            HttpRequest.Builder changed = HttpRequest.newBuilder(
                            URI.create(put.toString().replace("X-Amz-Expires=600", "X-Amz-Expires=601")))
                    .header("Fencing-Sequencer", sequencer);
            assertThat(gateway.send(changed.PUT(BodyPublishers.ofString("changed")))
                            .statusCode())
                    .isEqualTo(403);
            HttpRequest.Builder bare = HttpRequest.newBuilder(put);
            HttpResponse<String> refused = gateway.send(bare.PUT(BodyPublishers.ofString("bare")));
            assertThat(refused.statusCode()).isEqualTo(428);
            assertThat(refused.body()).contains("<Code>SEQUENCER_MISSING</Code>", "<applied>no</applied>");
            assertThat(stored("a b/ü+")).isEqualTo("text");
        }
    }

    /** Which keys it deletes is in its body; so is no route for it. */
    @Test
    void deleteOfSeveralObjectsIsRefused() {
        S3Exception refused = refusal(() -> holder("orders/42", 33)
                .deleteObjects(request -> request.bucket(bucket)
                        .delete(all -> all.objects(
                                ObjectIdentifier.builder().key("orders/42").build()))));
        assertThat(refused.statusCode()).isEqualTo(404);
        assertThat(refused.getMessage()).contains("no route of the gateway is for POST /" + bucket);
    }
}
