package dev.palisade.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Metrics and health of a gateway, over HTTP. */
class AdminServerTest {
    private final HttpClient http = HttpClient.newHttpClient();

    private HttpResponse<String> get(GatewayFixture gateway, String path) throws Exception {
        URI uri = URI.create("http://127.0.0.1:" + gateway.adminPort() + path);
        return http.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
    }

    @Test
    void showsAdmissionsAndRefusalsOfTheGuard(@TempDir Path folder) throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture gateway = new GatewayFixture(folder, service, "admin: 127.0.0.1:0")) {
            assertThat(gateway.putAdmitted(34, "newer").statusCode()).isEqualTo(200);
            assertThat(gateway.put(33, "stale").statusCode()).isEqualTo(409);

            HttpResponse<String> metrics = get(gateway, "/metrics");
            assertThat(metrics.headers().firstValue("content-type").orElse("")).startsWith("text/plain");
            assertThat(metrics.body())
                    .contains("palisade_guard_admissions_total 1.0\n")
                    .contains("palisade_guard_refusals_total{reason=\"TOKEN_STALE\"} 1.0\n")
                    .contains("palisade_guard_serving 1.0\n")
                    .doesNotContain("items/1");
            assertThat(get(gateway, "/health/live").body()).isEqualTo("live\n");
            assertThat(get(gateway, "/health/ready").statusCode()).isEqualTo(200);
            assertThat(get(gateway, "/items/1").statusCode()).isEqualTo(404);
        }
    }

    @Test
    void rejectsBodiesAndOtherMethods(@TempDir Path folder) throws Exception {
        try (PlainService service = new PlainService();
                GatewayFixture gateway = new GatewayFixture(folder, service, "admin: 127.0.0.1:0");
                Socket socket = new Socket(InetAddress.getLoopbackAddress(), gateway.adminPort())) {
            socket.setSoTimeout(60_000);
            OutputStream out = socket.getOutputStream();
            out.write("POST /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx"
                    .getBytes(StandardCharsets.US_ASCII));
            assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
                    .startsWith("HTTP/1.1 405");
        }
    }
}
