package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.grpc.BearerTokenFile;
import io.grpc.CompositeChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tokens and a policy, by the packaged jars: the commands and the SDK, with rights, without, and when rights are withdrawn. */
class TokenIT {
    private static final String WEB = "palisade_" + "A".repeat(43);
    private static final String OPS = "palisade_" + "B".repeat(43);

    @TempDir
    Path folder;

    private Path policy;
    private Path web;
    private Path ops;
    private Shell shell;

    @BeforeEach
    void start() throws Exception {
        policy = Files.writeString(
                folder.resolve("policy.conf"), "allow web acquire,describe orders/*\nallow ops * *\n");
        web = Files.writeString(folder.resolve("web-token"), WEB + "\n");
        ops = Files.writeString(folder.resolve("ops-token"), OPS + "\n");
        Path users = Files.write(folder.resolve("users"), List.of(user("web", WEB), user("ops", OPS)));
        Files.setPosixFilePermissions(users, java.nio.file.attribute.PosixFilePermissions.fromString("rw-------"));
        shell = new Shell("--policy", policy.toString(), "--users", users.toString());
    }

    @AfterEach
    void close() {
        shell.close();
    }

    private static String user(String name, String token) throws Exception {
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
        return name + " " + HexFormat.of().formatHex(hash) + " 2026-01-02";
    }

    @Test
    void commandsCallWithTheTokenOfTheFile() throws Exception {
        Map<String, String> asWeb = Map.of("PALISADE_TOKEN_FILE", web.toString());
        Shell.Ran ran = shell.run(asWeb, "run", "orders/1", "--", "sh", "-c", "echo $PALISADE_LOCK");
        assertThat(ran.err()).isEmpty();
        assertThat(ran.out()).containsExactly("orders/1");
        assertThat(shell.run(asWeb, "list").code()).isZero();
        assertThat(shell.run("status", "--token-file", ops.toString()).code()).isZero();
        assertDenied("PERMISSION_DENIED: web may not operate", shell.run(asWeb, "status"));
        assertDenied(
                "PERMISSION_DENIED: web may not force-release 'orders/1'",
                shell.run(asWeb, "force-release", "orders/1", "--all", "--why", "late"));
        assertDenied("UNAUTHENTICATED: the call has neither a token nor", shell.run("list"));
        Shell.Ran none =
                shell.run("list", "--token-file", folder.resolve("none").toString());
        assertThat(none.code()).isEqualTo(2);
        assertThat(none.err())
                .singleElement()
                .asString()
                .endsWith("token file " + folder.resolve("none") + " does not exist");
        Files.writeString(web, "palisade_" + "C".repeat(43));
        assertDenied("UNAUTHENTICATED: the token is not one of a user", shell.run(asWeb, "list"));
    }

    private static void assertDenied(String why, Shell.Ran ran) {
        assertThat(ran.err()).singleElement().asString().contains(why).doesNotContain("AAAA", "CCCC");
        assertThat(ran.code()).isEqualTo(5);
        assertThat(ran.out()).isEmpty();
    }

    @Test
    void aClientWhoseRightIsWithdrawnLosesItsLeaseAndIsRefused() throws Exception {
        CountDownLatch lost = new CountDownLatch(1);
        try (PalisadeClient client = PalisadeClient.builder()
                .servers(shell.serverAddress())
                .credentials(CompositeChannelCredentials.create(
                        InsecureChannelCredentials.create(), BearerTokenFile.at(web)))
                .callTimeout(Duration.ofMinutes(1))
                .build()) {
            Lease kept = client.acquire("orders/2", Duration.ofMinutes(1));
            Lease lease = client.acquire("orders/1", Duration.ofMinutes(1));
            lease.onLost(why -> lost.countDown());
            Files.writeString(policy, "allow web acquire,describe orders/2\nallow ops * *\n");
            assertThat(lost.await(1, TimeUnit.MINUTES)).isTrue();
            assertThat(kept.isValid()).isTrue();
            assertThat(org.assertj.core.api.Assertions.catchThrowableOfType(
                                    RejectedException.class, () -> client.acquire("orders/1", Duration.ofMinutes(1)))
                            .reason())
                    .isEqualTo(Reason.PERMISSION_DENIED);
        }
    }
}
