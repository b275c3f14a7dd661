package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.grpc.BearerTokenFile;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation.Service;
import dev.palisade.scenario.PlainHttpService;
import io.grpc.CompositeChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tokens and a policy, by the packaged jars: the commands and the SDK, with rights, without, and when rights are withdrawn. */
class TokenIT {
    private static final String WEB = "palisade_" + "A".repeat(43);
    private static final String GATEWAY = "palisade_" + "D".repeat(43);
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
        web = secret("web-token", WEB);
        ops = secret("ops-token", OPS);
        Path users = Files.write(
                folder.resolve("users"), List.of(user("web", WEB), user("ops", OPS), user("gateway", GATEWAY)));
        Files.setPosixFilePermissions(users, PosixFilePermissions.fromString("rw-------"));
        shell = new Shell("--policy", policy.toString(), "--users", users.toString());
    }

    private Path secret(String name, String token) throws IOException {
        Path file = Files.writeString(folder.resolve(name), token + "\n");
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
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
        assertThat(as(ops, "status").code()).isZero();
        assertDenied("PERMISSION_DENIED: web may not operate", as(web, "status"));
        assertDenied(
                "PERMISSION_DENIED: web may not force-release 'orders/1'",
                as(web, "force-release", "orders/1", "--all", "--why", "late"));
        assertDenied(
                "PERMISSION_DENIED: web may not force-release 'orders/free'",
                as(web, "force-release", "orders/free", "--why", "late"));
        assertDenied("UNAUTHENTICATED: the call has neither a token nor", shell.here("list"));
        Shell.Ran none = as(folder.resolve("none"), "list");
        assertThat(none.code()).isEqualTo(2);
        assertThat(none.err())
                .singleElement()
                .asString()
                .endsWith("token file " + folder.resolve("none") + " does not exist");
        assertWarnsOfReaders();
        Files.writeString(web, "palisade_" + "C".repeat(43));
        assertDenied("UNAUTHENTICATED: the token is not one of a user", as(web, "list"));
    }

    /** In this process: what is called with which token, and not how it starts. */
    private Shell.Ran as(Path token, String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of("--token-file", token.toString()));
        return shell.here(all.toArray(new String[0]));
    }

    private void assertWarnsOfReaders() throws IOException {
        String warning =
                "palisade list: warning: token file " + web + " can be read by other users (rw-r-----); chmod 600 it";
        assertThat(as(web, "list").err()).containsExactly("no lock is in use");
        Files.setPosixFilePermissions(web, PosixFilePermissions.fromString("rw-r-----"));
        Shell.Ran ran = as(web, "list");
        assertThat(ran.code()).isZero();
        assertThat(ran.err()).containsExactly(warning, "no lock is in use");
        Files.setPosixFilePermissions(web, PosixFilePermissions.fromString("rw-------"));
    }

    /** A gateway is a client too: it registers its name, and asks for the first mark of a resource. */
    @Test
    void aGatewayNeedsRightsOfItsOwnAndWorksWithThem() throws Exception {
        Path token = Files.writeString(folder.resolve("gateway-token"), GATEWAY + "\n");
        Service upstream = shell.installation().service("service", PlainHttpService.class, List.of(), line -> {});
        Path file = Files.writeString(
                folder.resolve("gateway.yaml"),
                "listen: 127.0.0.1:0\nprotects: stock\nmarks: marks\nunknown-outcome-timeout: 1s\nkeyset: "
                        + shell.installation().home().resolve("keys/sequencers.json") + "\nlock-servers: "
                        + shell.serverAddress() + "\nlock-server-token-file: " + token + "\nupstream: {addresses: '"
                        + upstream.address()
                        + "', idle-timeout: 1s}\nroutes:\n  - {path: '/stock/{id}', lock: 'orders/{id}'}\n");
        Service gateway = shell.installation().gateway(file);
        try (Child stoppedLast = upstream.child();
                Child proxy = gateway.child();
                PalisadeClient client = client()) {
            assertThat(stoppedLast.pid()).isNotEqualTo(proxy.pid());
            Lease lease = client.acquire("orders/1", Duration.ofMinutes(1));
            HttpResponse<String> denied = put(gateway, lease);
            assertThat(denied.statusCode()).isEqualTo(503);
            assertThat(denied.body()).contains("denies this guard: gateway may not acquire 'palisade/guards/stock'");
            Files.writeString(
                    policy,
                    "allow gateway acquire,describe palisade/guards/stock\nallow gateway guard orders/*\n",
                    StandardOpenOption.APPEND);
            Awaitility.await().until(() -> put(gateway, lease).statusCode() == 200);
        }
    }

    private static HttpResponse<String> put(Service gateway, Lease lease) throws Exception {
        return HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create("http://" + gateway.address() + "/stock/1"))
                                .header("Fencing-Sequencer", lease.sequencer().toText())
                                .PUT(HttpRequest.BodyPublishers.ofString("7"))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
    }

    private PalisadeClient client() {
        return PalisadeClient.builder()
                .servers(shell.serverAddress())
                .credentials(CompositeChannelCredentials.create(
                        InsecureChannelCredentials.create(), BearerTokenFile.at(web)))
                .callTimeout(Duration.ofMinutes(1))
                .build();
    }

    private static void assertDenied(String why, Shell.Ran ran) {
        assertThat(ran.err()).singleElement().asString().contains(why).doesNotContain("AAAA", "CCCC");
        assertThat(ran.code()).isEqualTo(5);
        assertThat(ran.out()).isEmpty();
    }

    @Test
    void aClientWhoseRightIsWithdrawnLosesItsLeaseAndIsRefused() throws Exception {
        CountDownLatch lost = new CountDownLatch(1);
        try (PalisadeClient client = client()) {
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
