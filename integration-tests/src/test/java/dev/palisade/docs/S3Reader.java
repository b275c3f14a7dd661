package dev.palisade.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.examples.GuardAnS3Write;
import dev.palisade.examples.SendASequencerToS3;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import org.gaul.s3proxy.S3Proxy;
import org.gaul.s3proxy.auth.AuthenticationType;
import org.gaul.s3proxy.nio2blob.TransientNio2BlobStore;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.S3Exception;

/** The reader of the S3 guide, whose store verifies signatures. */
final class S3Reader implements ReaderProgram {
    private final S3Proxy store;
    private final S3Client direct;

    S3Reader() throws Exception {
        // Where the SDK finds a reader's.
        System.setProperty("aws.accessKeyId", "user");
        System.setProperty("aws.secretAccessKey", "secret");
        System.setProperty("aws.region", "us-east-1");
        store = S3Proxy.builder()
                .endpoint(URI.create("http://127.0.0.1:0"))
                .awsAuthentication(AuthenticationType.AWS_V4, "user", "secret")
                .blobStore(new TransientNio2BlobStore())
                .build();
        store.start();
        direct = S3Client.builder()
                .httpClient(UrlConnectionHttpClient.create())
                .forcePathStyle(true)
                .endpointOverride(URI.create("http://" + service()))
                .build();
        direct.createBucket(request -> request.bucket("orders"));
    }

    @Override
    public String service() {
        return "127.0.0.1:" + store.getPort();
    }

    @Override
    public void run(String example, PageTerminal terminal) throws Exception {
        Path keyset = terminal.keyset();
        if (example.endsWith("/GuardAnS3Write.java")) {
            assertThat(GuardAnS3Write.run(direct, keyset, ReaderProgram.signed(keyset, "orders/42", 33)))
                    .isEmpty();
            assertThat(GuardAnS3Write.run(direct, keyset, ReaderProgram.signed(keyset, "orders/42", 34)))
                    .isEqualTo("{\"status\": \"paid\"}");
            assertThatThrownBy(() -> GuardAnS3Write.run(direct, keyset, ReaderProgram.signed(keyset, "orders/42", 33)))
                    .isInstanceOfSatisfying(
                            RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.TOKEN_STALE));
        } else if (example.endsWith("/SendASequencerToS3.java")) {
            throughTheGateway(URI.create("http://" + terminal.gateway()), terminal.lockServer());
        } else {
            throw ReaderProgram.unknown(example);
        }
    }

    private void throughTheGateway(URI gateway, String lockServer) throws Exception {
        try (PalisadeClient client =
                PalisadeClient.builder().servers(lockServer).build()) {
            SignedSequencer late = grant(client);
            // A new gateway knows its marks when the lock server has replied; on a slow machine it may raise them above
            // grants later.
            await().atMost(Duration.ofMinutes(1))
                    .ignoreException(S3Exception.class)
                    .until(() -> put(gateway, grant(client), "newer"));
            assertThatThrownBy(() -> put(gateway, late, "late")).isInstanceOfSatisfying(S3Exception.class, e -> {
                assertThat(e.statusCode()).isEqualTo(409);
                assertThat(e.awsErrorDetails().errorCode()).isEqualTo("TOKEN_STALE");
            });
        }
        assertThat(direct.getObjectAsBytes(request -> request.bucket("orders").key("reports/7"))
                        .asUtf8String())
                .isEqualTo("newer");
    }

    private static SignedSequencer grant(PalisadeClient client) throws InterruptedException {
        try (Lease lease = client.acquire("reports/7")) {
            return lease.sequencer();
        }
    }

    private static boolean put(URI gateway, SignedSequencer sequencer, String text) {
        try (S3Client client = SendASequencerToS3.client(gateway, () -> sequencer)) {
            client.putObject(request -> request.bucket("orders").key("reports/7"), RequestBody.fromString(text));
            return true;
        }
    }

    @Override
    public void sql(String statement) {
        throw ReaderProgram.unknown(statement);
    }

    @Override
    public void close() throws IOException {
        direct.close();
        try {
            store.stop();
        } catch (Exception e) {
            throw new IOException(e);
        }
    }
}
