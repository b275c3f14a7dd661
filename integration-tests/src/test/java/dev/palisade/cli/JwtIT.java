package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import io.grpc.CallCredentials;
import io.grpc.CompositeChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Metadata;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** JWTs by the packaged jars. The tokens are made by the JDK alone, without the library that verifies them. */
class JwtIT {
    /** Of the token that expires, rounded down to seconds. A machine that takes longer to connect gets another. */
    private static final Duration SHORT = Duration.ofSeconds(3);

    private static final Duration LONG = Duration.ofSeconds(20);

    @TempDir
    Path folder;

    private final TestJwts jwts = new TestJwts();

    private String token(Instant expiresAt) throws Exception {
        return jwts.token(expiresAt, "locks");
    }

    /** Reads the file for each call; {@code BearerTokenFile} would use what it read for 5 s more than this test lasts. */
    private static final class TokenOf extends CallCredentials {
        private final Path file;

        TokenOf(Path file) {
            this.file = file;
        }

        @Override
        public void applyRequestMetadata(RequestInfo request, Executor executor, MetadataApplier applier) {
            Metadata headers = new Metadata();
            try {
                headers.put(
                        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER),
                        "Bearer " + Files.readString(file).strip());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            applier.apply(headers);
        }
    }

    private static PalisadeClient client(Shell shell, Path token) {
        return PalisadeClient.builder()
                .servers(shell.serverAddress())
                .credentials(
                        CompositeChannelCredentials.create(InsecureChannelCredentials.create(), new TokenOf(token)))
                .callTimeout(Duration.ofMinutes(1))
                .build();
    }

    private static Lease acquire(PalisadeClient client, String lock) {
        try {
            return client.acquire(lock, Duration.ofMinutes(5));
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** A client whose stream was opened with the token in the file {@code old}, which expires soon. */
    private record Connected(PalisadeClient client, Lease lease) {}

    private Connected connected(Shell shell, Path file, Path old, Duration life) throws Exception {
        Files.writeString(file, token(Instant.now().plus(life)));
        Files.copy(file, old, StandardCopyOption.REPLACE_EXISTING);
        PalisadeClient client = client(shell, file);
        try {
            return new Connected(client, client.acquire("orders/1", Duration.ofMinutes(1)));
        } catch (RejectedException e) {
            client.close();
            if (e.rejection().reason() != Reason.UNAUTHENTICATED || life.compareTo(LONG) > 0) {
                throw e;
            }
            return connected(shell, file, old, life.multipliedBy(2));
        }
    }

    @Test
    void aLeaseAndAWaitOutliveTheirToken() throws Exception {
        Path policy = Files.writeString(folder.resolve("policy"), "allow jwt:web * *\n");
        Path jwks = Files.writeString(folder.resolve("jwks.json"), jwts.jwks());
        String lasting = token(Instant.now().plusSeconds(3_600));
        Path other = Files.writeString(folder.resolve("other"), lasting + "\n");
        try (Shell shell = new Shell(
                        "--policy",
                        policy.toString(),
                        "--jwt-issuer",
                        "https://issuer",
                        "--jwt-audience",
                        "locks",
                        "--jwt-jwks",
                        jwks.toString(),
                        "--jwt-clock-skew",
                        "0s");
                PalisadeClient holder = client(shell, other)) {
            Lease held = holder.acquire("orders/2", Duration.ofMinutes(1));
            Path file = folder.resolve("token");
            Path old = folder.resolve("old");
            Connected connected = connected(shell, file, old, SHORT);
            try (PalisadeClient client = connected.client()) {
                Lease lease = connected.lease();
                CompletableFuture<Lease> waiting = CompletableFuture.supplyAsync(() -> acquire(client, "orders/2"));
                Files.writeString(file, lasting);
                Awaitility.await()
                        .atMost(Shell.PATIENCE)
                        .until(() -> shell.here("list", "--token-file", old.toString())
                                        .code()
                                == 5);
                Shell.Ran refused = shell.here("list", "--token-file", old.toString());
                assertThat(refused.err()).last().asString().contains("Expired JWT");
                // By now the stream of the old token has ended, or ends within a second.
                held.release();
                assertThat(waiting.get(2, TimeUnit.MINUTES).isValid()).isTrue();
                assertThat(lease.isValid()).isTrue();
                assertThat(acquire(client, "orders/3").isValid()).isTrue();
            }
        }
    }
}
