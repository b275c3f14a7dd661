package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonParser;
import dev.palisade.guard.MarkStore;
import dev.palisade.proto.v1.GetObjectRequest;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Everything that lock servers, object storage, a gateway and the command line write while logins succeed and fail, searched
 * for each secret that they were given.
 */
class SecretsIT {
    private static final String OPS = "palisade_" + "Ops3cret".repeat(5) + "ABC";
    private static final String WRONG = "palisade_" + "Wr0ngOne".repeat(5) + "ABC";
    private static final String PASSWORD = "hunter2-of-the-store";

    @TempDir
    Path folder;

    private final TestJwts jwts = new TestJwts();
    private final List<Child> children = new ArrayList<>();
    /** By what wrote it. */
    private final Map<String, String> written = new LinkedHashMap<>();

    private final Map<String, Queue<String>> output = new HashMap<>();

    @AfterEach
    void close() {
        children.forEach(Child::close);
    }

    /** Where a secret, or the part of one that makes it secret, was written. */
    private static List<String> leaks(Map<String, String> written, Stream<String> secrets) {
        return secrets.flatMap(secret -> written.entrySet().stream()
                        .filter(each -> each.getValue().contains(secret))
                        .map(each -> each.getKey() + " has " + secret))
                .toList();
    }

    private Path errorsOf(String name) {
        return folder.resolve(name + ".err");
    }

    /** A process whose standard error is a file; the lines of its standard output are kept. */
    private Child start(String name, Map<String, String> environment, String jar, String... arguments) {
        List<String> command = new ArrayList<>(List.of("sh", "-c", "exec \"$@\" 2>" + errorsOf(name), "sh"));
        command.addAll(Child.java("-jar", Installation.jar(jar)));
        command.addAll(List.of(arguments));
        Map<String, String> all = new HashMap<>(environment);
        all.put("PALISADE_HOME", folder.toString());
        Queue<String> lines = new ConcurrentLinkedQueue<>();
        output.put(name, lines);
        Child child = Child.start(name, command, all, lines::add);
        children.add(child);
        return child;
    }

    private Queue<String> lines(Child child) {
        return Objects.requireNonNull(output.get(child.name()));
    }

    private Child server(String name, String format, String... more) {
        List<String> arguments = new ArrayList<>(List.of(
                "server",
                "--port",
                "0",
                "--admin-port",
                "0",
                "--log-format",
                format,
                "--data-dir",
                folder.resolve(name).toString(),
                "--policy",
                folder.resolve("policy.conf").toString(),
                "--users",
                folder.resolve("users").toString(),
                "--jwt-issuer",
                "https://issuer",
                "--jwt-audience",
                "locks",
                "--jwt-jwks",
                folder.resolve("jwks.json").toString()));
        arguments.addAll(List.of(more));
        return start(name, Map.of(), "lock-server/target/palisade-server.jar", arguments.toArray(new String[0]));
    }

    private Path token(String name, String token) throws Exception {
        Path file = Files.writeString(folder.resolve(name + "-token"), token + "\n");
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }

    private Shell.Ran here(Service server, Path token, String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(1, List.of("--server", server.address(), "--token-file", token.toString(), "--timeout", "20s"));
        try (ThreadOutput output = ThreadOutput.capture()) {
            int code = Main.run(all.toArray(new String[0]));
            Shell.Ran ran = new Shell.Ran(code, output.out(), output.err());
            written.merge("palisade " + String.join(" ", arguments), ran.toString(), String::concat);
            return ran;
        }
    }

    private void get(URI uri, String authorization) throws Exception {
        HttpResponse<String> response = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(uri)
                                .header("Authorization", authorization)
                                .timeout(Duration.ofMinutes(1))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
        written.merge("reply of " + uri.getPath(), response.headers().map() + response.body(), String::concat);
    }

    @Test
    void noSecretIsWrittenAnywhere() throws Exception {
        String jwt = jwts.token(Instant.now().plusSeconds(600), "locks");
        String otherJwt = jwts.token(Instant.now().plusSeconds(600), "another-audience");
        Files.writeString(folder.resolve("policy.conf"), "allow ops * *\nallow jwt:web * orders/*\n");
        Files.writeString(folder.resolve("jwks.json"), jwts.jwks());
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(OPS.getBytes(StandardCharsets.UTF_8));
        Files.setPosixFilePermissions(
                Files.writeString(
                        folder.resolve("users"), "ops " + HexFormat.of().formatHex(hash) + " 2026-01-02\n"),
                PosixFilePermissions.fromString("rw-------"));
        Path ops = token("ops", OPS);

        Child json = server("json-server", "json");
        Service locks = Service.of(json);
        Service text = Service.of(server("text-server", "text"));
        Map<String, String> withPassword = Map.of(
                "PALISADE_SERVER_STORE", "redis://:" + PASSWORD + "@127.0.0.1:1",
                "PALISADE_OBJECTS_JDBC_URL", "jdbc:postgresql://127.0.0.1:1/x?user=a&password=" + PASSWORD,
                "PALISADE_OBJECTS_JDBC_PASSWORD", PASSWORD);
        String serverJar = "lock-server/target/palisade-server.jar";
        String objectsJar = "resource-guard/objects/target/palisade-objects.jar";
        List<Child> failing = List.of(
                start("server-help", withPassword, serverJar, "server", "--help"),
                start("server-down", withPassword, serverJar, "server", "--port", "0", "--advertise", "localhost:7600"),
                start("objects-down", withPassword, objectsJar, "--port", "0"));
        Service objects = Service.of(start("objects", Map.of(), objectsJar, "--port", "0", "--log-format", "json"));
        Service gateway = gateway(locks, ops);

        Path wrong = token("wrong", WRONG);
        Path cut = token("cut", jwt + "x");
        List<Path> all = List.of(ops, token("jwt", jwt), wrong, token("other", otherJwt), cut);
        call(locks, all);
        call(text, List.of(ops, wrong, cut));
        for (Service server : List.of(locks, text)) {
            assertThat(here(server, ops, "status").code()).isZero();
            assertThat(here(server, wrong, "status").code()).isEqualTo(5);
            adminPort(server, jwt, otherJwt);
        }
        useObjects(objects);
        for (String authorization : List.of("Bearer " + OPS, "Bearer " + WRONG, "Basic " + PASSWORD)) {
            get(URI.create("http://" + gateway.address() + "/stock/1"), authorization);
        }
        String sequencer = whileACommandRuns(locks, ops);

        failing.forEach(Child::awaitExit);
        for (Child child : children) {
            child.terminate();
            var unusedRest = child.remainingOutput();
            written.put(child.name(), String.join("\n", lines(child)));
            written.put(child.name() + " (standard error)", Files.readString(errorsOf(child.name())));
        }
        assertThat(written.get("json-server (standard error)")).contains("\"UNAUTHENTICATED\"");
        assertThat(written.get("text-server (standard error)")).contains("reason=UNAUTHENTICATED");
        assertThat(written.get("server-help")).contains("--store");
        assertThat(written.get("server-down (standard error)")).contains("127.0.0.1:1");
        assertThat(written.get("objects-down (standard error)")).isNotEmpty();
        List<String> secrets = new ArrayList<>(List.of(
                OPS.substring("palisade_".length()),
                WRONG.substring("palisade_".length()),
                PASSWORD,
                jwt.substring(jwt.indexOf('.') + 1, jwt.lastIndexOf('.')),
                jwt.substring(jwt.lastIndexOf('.') + 1),
                otherJwt.substring(otherJwt.lastIndexOf('.') + 1),
                keyMaterial(),
                sequencer.substring(sequencer.length() - 40)));
        written.keySet().removeIf(each -> each.startsWith("palisade acquire")); // It gives the caller its sequencer.
        assertThat(leaks(written, secrets.stream())).isEmpty();
        Map<String, String> planted = Map.of("a log", "event=refused token=" + OPS);
        assertThat(leaks(planted, secrets.stream())).as("the search finds").hasSize(1);
    }

    private void call(Service server, List<Path> tokens) {
        for (Path token : tokens) {
            here(server, token, "acquire", "orders/1", "--json", "--wait", "0s");
            here(server, token, "list");
            here(server, token, "explain", "orders/1");
        }
    }

    private String keyMaterial() throws Exception {
        String value = JsonParser.parseString(Files.readString(folder.resolve("keys/sequencers.json")))
                .getAsJsonObject()
                .getAsJsonArray("key")
                .get(0)
                .getAsJsonObject()
                .getAsJsonObject("keyData")
                .get("value")
                .getAsString();
        return value.substring(value.length() - 32);
    }

    private Service gateway(Service locks, Path token) throws Exception {
        String jar = "resource-guard/gateway/target/palisade-gateway.jar";
        Path file = Files.writeString(
                folder.resolve("gateway.yaml"),
                "listen: 127.0.0.1:0\nprotects: stock\nmarks: marks\nkeyset: keys/sequencers.json\nlock-servers: "
                        + locks.address() + "\nlock-server-token-file: " + token
                        + "\nupstream:\n  addresses: 127.0.0.1:9\nroutes:\n  - path: /stock/{id}\n    lock: stock/{id}\n");
        MarkStore.createNeverUsed(folder.resolve("marks"));
        return Service.of(start("gateway", Map.of(), jar, "--config", file.toString()));
    }

    private void adminPort(Service server, String jwt, String otherJwt) throws Exception {
        String start = "metrics and health at ";
        String line = lines(server.child()).stream()
                .filter(each -> each.contains(start))
                .findFirst()
                .orElseThrow();
        String admin = line.substring(line.indexOf(start) + start.length(), line.lastIndexOf("/metrics"));
        for (String token : List.of(OPS, WRONG, jwt, otherJwt)) {
            for (String path : List.of(
                    "/metrics", "/api/v1/locks", "/api/v1/sessions", "/api/v1/store", "/api/v1/locks/orders%2F1")) {
                get(URI.create(admin + path), "Bearer " + token);
            }
        }
    }

    private void useObjects(Service objects) {
        ManagedChannel channel = Grpc.newChannelBuilder(objects.address(), InsecureChannelCredentials.create())
                .build();
        try {
            Metadata headers = new Metadata();
            headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + WRONG);
            var unused = ObjectsGrpc.newBlockingStub(channel)
                    .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
                    .get(GetObjectRequest.newBuilder().setKey("orders/1").build());
            throw new AssertionError("a call without a sequencer is refused");
        } catch (StatusRuntimeException e) {
            written.put("reply of objects", e.getStatus() + " " + e.getTrailers());
        } finally {
            channel.shutdownNow();
        }
    }

    /** Notes the arguments of each process below this one, and returns the sequencer that the command has. */
    private String whileACommandRuns(Service locks, Path token) throws Exception {
        Map<String, String> environment =
                Map.of("PALISADE_SERVER", locks.address(), "PALISADE_TOKEN_FILE", token.toString());
        Path file = folder.resolve("sequencer");
        Child run = start(
                "run",
                environment,
                "client-sdk/cli/target/palisade.jar",
                "run",
                "orders/2",
                "--timeout",
                "60s",
                "--",
                "sh",
                "-c",
                "printf %s \"$PALISADE_SEQUENCER\" >" + file + "; echo started; read line");
        run.await(line -> line.equals("started"));
        String arguments = ProcessHandle.current()
                .descendants()
                .map(process -> process.info().commandLine().orElse(""))
                .collect(Collectors.joining("\n"));
        assertThat(arguments).contains("orders/2", "--users");
        written.put("arguments of processes", arguments);
        run.send("");
        assertThat(run.awaitExit()).isZero();
        return Files.readString(file);
    }
}
