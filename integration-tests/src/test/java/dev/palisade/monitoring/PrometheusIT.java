package dev.palisade.monitoring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import java.io.File;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real Prometheus scrapes a real lock server: alert rules load, and every query of the dashboard has an answer. */
class PrometheusIT {
    private static final String METRICS_AT = "metrics and health at ";

    private final Installation installation = Installation.fresh();
    private final HttpClient http = HttpClient.newHttpClient();

    @TempDir
    Path folder;

    @AfterEach
    void close() {
        installation.close();
    }

    private static String command(String name) {
        return Stream.of(System.getenv("PATH").split(File.pathSeparator, -1))
                .map(directory -> Path.of(directory, name))
                .filter(Files::isExecutable)
                .findFirst()
                .map(Path::toString)
                .orElse("");
    }

    private static String needed(String name) {
        String command = command(name);
        assumeTrue(!command.isEmpty(), "no " + name + " on the PATH: metrics are not tried with Prometheus");
        return command;
    }

    private void promtool(Path in, String... arguments) throws Exception {
        Path output = Files.createTempFile(folder, "promtool", "");
        ProcessBuilder builder = new ProcessBuilder(Stream.concat(Stream.of(needed("promtool")), Stream.of(arguments))
                        .toList())
                .redirectInput(in.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        int code = builder.start().waitFor();
        assertThat(code)
                .as("promtool %s printed %s", List.of(arguments), Files.readString(output))
                .isZero();
    }

    @Test
    void everyAlertFiresOnABadServerAndIsSilentOnAGoodOne() throws Exception {
        Path nothing = Files.createFile(folder.resolve("nothing"));
        promtool(nothing, "check", "rules", OpsFiles.RULES.toString());
        promtool(nothing, "test", "rules", OpsFiles.RULES_TEST.toString());
    }

    @Test
    void prometheusAnswersEveryQueryOfTheDashboard() throws Exception {
        String prometheus = needed("prometheus");
        try (Child server = Child.start(
                "server",
                Child.java(
                        "-jar",
                        installation
                                .file("lock-server/target/palisade-server.jar")
                                .toString(),
                        "server",
                        "--port",
                        "0",
                        "--admin-port",
                        "0"),
                Map.of("PALISADE_HOME", installation.home().toString()))) {
            String line = server.await(any -> any.contains(METRICS_AT));
            URI metrics = URI.create(line.substring(line.indexOf(METRICS_AT) + METRICS_AT.length()));
            useLocks(Installation.Service.of(server).address(), metrics);
            String exposition = get(metrics);
            promtool(Files.writeString(folder.resolve("exposition"), exposition), "check", "metrics");
            Path config = Files.writeString(
                    folder.resolve("prometheus.yml"),
                    "global: {scrape_interval: 500ms, evaluation_interval: 500ms}\nrule_files: ['" + OpsFiles.RULES
                            + "']\nscrape_configs:\n  - job_name: palisade\n    static_configs:\n      - targets: ['"
                            + metrics.getAuthority() + "']\n");
            promtool(Files.createFile(folder.resolve("nothing")), "check", "config", config.toString());
            try (Child scraping = Child.start(
                    "prometheus",
                    List.of(
                            "sh",
                            "-c",
                            "exec 2>&1; exec \"$0\" \"$@\"",
                            prometheus,
                            "--config.file=" + config,
                            "--storage.tsdb.path=" + folder.resolve("data"),
                            "--web.listen-address=127.0.0.1:0"),
                    Map.of())) {
                String listening = scraping.await(any -> any.contains("msg=\"Listening on\""));
                check("http://" + listening.substring(listening.indexOf("address=") + "address=".length()), exposition);
            }
        }
    }

    /** Two grants, the second after a wait, and a try that does not get the lock. */
    private void useLocks(String address, URI metrics) throws Exception {
        try (PalisadeClient first = client(address, "first");
                PalisadeClient second = client(address, "second")) {
            Lease lease = first.acquire("orders/42", Duration.ofMinutes(1));
            assertThat(second.tryAcquire("orders/42")).isInstanceOf(AcquireResult.Busy.class);
            CompletableFuture<AcquireResult> waiting =
                    second.acquireAsync("orders/42", AcquireOptions.waiting(Duration.ofMinutes(2)));
            await().until(() -> get(metrics).contains("palisade_acquire_seconds_count{outcome=\"queued\"} 1\n"));
            lease.close();
            assertThat(waiting.get(60, TimeUnit.SECONDS)).isInstanceOf(AcquireResult.Granted.class);
        }
    }

    private static PalisadeClient client(String address, String owner) {
        return PalisadeClient.builder().servers(address).owner(owner).build();
    }

    private void check(String prometheus, String exposition) throws Exception {
        // It listens before it is ready, and answers 503 until then.
        await().until(() -> ask(URI.create(prometheus + "/-/ready")).statusCode() == 200);
        // Two scrapes at least, so that there are rates.
        await().until(() -> !result(prometheus, "count_over_time(palisade_store_up[1m]) > 2")
                .isEmpty());
        for (String name : OpsFiles.catalogue()) {
            assertThat(result(prometheus, name)).as(name).isNotEmpty();
        }
        await().untilAsserted(() -> {
            assertThat(value(prometheus, "sum(palisade_leases_granted_total)")).isEqualTo(2);
            assertThat(value(prometheus, "palisade_leases_ended_total{end='released'}"))
                    .isEqualTo(2);
            assertThat(value(prometheus, "palisade_wait_seconds_count{end='offered'}"))
                    .isEqualTo(1);
        });
        Set<String> ofTheProcess = OpsFiles.named(exposition);
        for (String query : OpsFiles.queries()) {
            JsonArray result = result(prometheus, query);
            boolean mayBeEmpty =
                    query.endsWith("> 0") || query.contains("jvm_gc_pause"); // No rejection, no collection.
            if (!mayBeEmpty) {
                assertThat(result).as(query).isNotEmpty();
                assertThat(new TreeSet<>(OpsFiles.named(query))).as(query).isSubsetOf(ofTheProcess);
            }
        }
        JsonArray groups = JsonParser.parseString(get(URI.create(prometheus + "/api/v1/rules")))
                .getAsJsonObject()
                .getAsJsonObject("data")
                .getAsJsonArray("groups");
        assertThat(groups).hasSize(1);
        for (JsonElement rule : groups.get(0).getAsJsonObject().getAsJsonArray("rules")) {
            JsonObject alert = rule.getAsJsonObject();
            String name = alert.get("name").getAsString();
            assertThat(alert.get("health").getAsString()).as(name).isIn("ok", "unknown");
            assertThat(alert.get("state").getAsString()).as(name).isEqualTo("inactive");
        }
    }

    private double value(String prometheus, String query) throws Exception {
        JsonArray result = result(prometheus, query);
        assertThat(result).as(query).hasSize(1);
        return result.get(0).getAsJsonObject().getAsJsonArray("value").get(1).getAsDouble();
    }

    /** What an instant query answers; fails the test when Prometheus rejects it. */
    private JsonArray result(String prometheus, String query) throws Exception {
        String body =
                get(URI.create(prometheus + "/api/v1/query?query=" + URLEncoder.encode(query, StandardCharsets.UTF_8)));
        JsonObject answer = JsonParser.parseString(body).getAsJsonObject();
        assertThat(answer.get("status").getAsString()).as("%s: %s", query, body).isEqualTo("success");
        return answer.getAsJsonObject("data").getAsJsonArray("result");
    }

    private String get(URI uri) throws Exception {
        return ask(uri).body();
    }

    private HttpResponse<String> ask(URI uri) throws Exception {
        return http.send(
                HttpRequest.newBuilder(uri).timeout(Duration.ofMinutes(1)).build(),
                HttpResponse.BodyHandlers.ofString());
    }
}
