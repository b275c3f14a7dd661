package dev.palisade.monitoring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.JsonSyntaxException;
import com.google.gson.Strictness;
import dev.palisade.client.PalisadeClient;
import dev.palisade.proto.v1.GetObjectRequest;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Every line that a real server, a real object store and a real gateway log with {@code --log-format json} is an object. */
class JsonLogIT {
    private static final Gson STRICT =
            new GsonBuilder().setStrictness(Strictness.STRICT).create();
    private static final String HOSTILE = "x\" event=forged \\ \u202e {\"level\":\"ERROR\"} \ud83d\ude00";

    private final Installation installation = Installation.fresh();

    @AfterEach
    void close() {
        installation.close();
    }

    private Path logOf(String name) {
        return installation.home().resolve(name + ".log");
    }

    /** A process whose standard error is a file, so that its last line is not missed. */
    private Child start(String name, Map<String, String> environment, String... arguments) {
        List<String> command = new ArrayList<>(List.of("sh", "-c", "exec \"$@\" 2>" + logOf(name), "sh"));
        command.addAll(Child.java(arguments));
        Map<String, String> all = new HashMap<>(environment);
        all.put("PALISADE_HOME", installation.home().toString());
        return Child.start(name, command, all);
    }

    /** Stops {@code child} and parses all of its standard error. */
    private List<JsonObject> log(Child child) throws IOException {
        child.terminate();
        List<JsonObject> log = Files.readAllLines(logOf(child.name())).stream()
                .map(JsonLogIT::parsed)
                .toList();
        assertThat(log)
                .isNotEmpty()
                .allSatisfy(object -> assertThat(object.keySet()).contains("time", "level", "logger"));
        return log;
    }

    private static JsonObject parsed(String line) {
        try {
            return STRICT.fromJson(line, JsonObject.class);
        } catch (JsonSyntaxException e) {
            throw new AssertionError("no JSON: " + line, e);
        }
    }

    private static JsonObject event(List<JsonObject> log, String event) {
        return log.stream()
                .filter(object ->
                        object.has("event") && object.get("event").getAsString().equals(event))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no " + event + " in " + log));
    }

    @Test
    void theLogsOfAllServersAreObjectsOnly() throws Exception {
        String jar = Installation.jar("resource-guard/gateway/target/palisade-gateway.jar");
        // All that does not wait for another starts at once.
        try (Child server = start(
                        "server",
                        Map.of(),
                        "-jar",
                        Installation.jar("lock-server/target/palisade-server.jar"),
                        "server",
                        "--port",
                        "0",
                        "--log-format",
                        "json");
                Child objects = start(
                        "objects",
                        Map.of("PALISADE_OBJECTS_LOG_FORMAT", "json"),
                        "-jar",
                        Installation.jar("resource-guard/objects/target/palisade-objects.jar"),
                        "--port",
                        "0")) {
            String locks = Installation.Service.of(server).address();
            Path file = gatewayFile(locks);
            try (Child init = start("init", Map.of(), "-jar", jar, "init", file.toString())) {
                assertThat(init.awaitExit()).isZero();
            }
            try (Child gateway = start(
                    "gateway",
                    Map.of("PALISADE_GATEWAY_LOG_FORMAT", "json"),
                    "-jar",
                    jar,
                    "--config",
                    file.toString())) {
                useALock(locks);
                readWithoutASequencer(Installation.Service.of(objects).address());
                writeWithoutASequencer(Installation.Service.of(gateway).address());

                JsonObject opened = event(log(server), "session_opened");
                assertThat(opened.get("owner").getAsString()).isEqualTo(HOSTILE);
                for (Child guard : List.of(objects, gateway)) {
                    assertThat(event(log(guard), "refused").get("reason").getAsString())
                            .isEqualTo("SEQUENCER_MISSING");
                }
            }
        }
    }

    private Path gatewayFile(String locks) throws IOException {
        return Files.writeString(
                installation.home().resolve("gateway.yaml"),
                "listen: 127.0.0.1:0\nprotects: stock\nmarks: marks\nkeyset: keys/sequencers.json\nlock-servers: "
                        + locks
                        + "\nupstream:\n  addresses: 127.0.0.1:9\nroutes:\n  - path: /stock/{id}\n    lock: stock/{id}\n");
    }

    private static void useALock(String locks) throws InterruptedException {
        try (PalisadeClient client =
                PalisadeClient.builder().servers(locks).owner(HOSTILE).build()) {
            client.acquire("orders/1").close();
        }
    }

    private static void readWithoutASequencer(String objects) {
        ManagedChannel channel = Grpc.newChannelBuilder(objects, InsecureChannelCredentials.create())
                .build();
        assertThatThrownBy(() -> ObjectsGrpc.newBlockingStub(channel)
                        .get(GetObjectRequest.newBuilder().setKey("orders/1").build()))
                .isInstanceOf(StatusRuntimeException.class);
        channel.shutdownNow();
    }

    private static void writeWithoutASequencer(String gateway) throws IOException, InterruptedException {
        HttpResponse<String> response = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create("http://" + gateway + "/stock/1"))
                                .PUT(HttpRequest.BodyPublishers.ofString("x"))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
        assertThat(response.statusCode()).isGreaterThanOrEqualTo(400);
    }
}
