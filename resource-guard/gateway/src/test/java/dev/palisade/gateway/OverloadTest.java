package dev.palisade.gateway;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/** Clients that take more than their part: the others stay served. */
class OverloadTest {
    /** Stays behind: gateways are closed in the background. */
    @TempDir(cleanup = CleanupMode.NEVER)
    Path directory;

    private final PlainService service = new PlainService();

    @AfterEach
    void stop() {
        service.close();
    }

    /** Waits for it; what was not read of a request makes it a reset. */
    private static boolean isClosed(Socket socket) throws IOException {
        try {
            return socket.getInputStream().read() == -1;
        } catch (SocketException e) {
            return true;
        }
    }

    private static int open(GatewayFixture gateway) throws IOException, InterruptedException {
        HttpResponse<String> response = gateway.send(HttpRequest.newBuilder(gateway.uri("/open/x")));
        return response.statusCode();
    }

    /** The second ones have sent half a head. */
    @Test
    void idleConnectionsGiveWayAndThoseWithARequestDoNot() throws Exception {
        List<Socket> idle = new ArrayList<>();
        try (GatewayFixture gateway = GatewayFixture.bounded(directory, service, 4, 100)) {
            CompletableFuture<Void> go = service.hold();
            CompletableFuture<HttpResponse<String>> running = gateway.putAsync(7, "running");
            await().until(() -> service.begun.size() == 1);
            service.handler = service::store;
            for (int i = 0; i < 20; i++) {
                Socket socket = gateway.connect();
                idle.add(socket);
                if (i % 2 == 0) {
                    socket.getOutputStream().write("GET /open/x HTT".getBytes(US_ASCII));
                }
            }
            assertThat(open(gateway)).isEqualTo(200);
            assertThat(isClosed(idle.get(0))).as("the oldest is closed").isTrue();
            go.complete(null);
            assertThat(running.join().statusCode()).isEqualTo(200);
        } finally {
            for (Socket socket : idle) {
                socket.close();
            }
        }
    }

    @Test
    void requestsBeyondTheMemoryAreRefusedAndNotForwarded() throws Exception {
        try (GatewayFixture gateway = GatewayFixture.bounded(directory, service, 100, 2)) {
            CompletableFuture<Void> go = service.hold();
            CompletableFuture<HttpResponse<String>> first = gateway.putAsync(7, "first");
            CompletableFuture<HttpResponse<String>> second = gateway.putAsync(7, "second");
            await().until(() -> service.begun.size() == 2);
            HttpResponse<String> third = gateway.put(7, "third");
            assertThat(third.statusCode()).isEqualTo(503);
            assertThat(GatewayFixture.text(GatewayFixture.problem(third), "reason"))
                    .isEqualTo("LIMIT_EXCEEDED");
            assertThat(GatewayFixture.text(GatewayFixture.problem(third), "applied"))
                    .isEqualTo("no");
            assertThat(service.begun).hasSize(2);
            go.complete(null);
            assertThat(first.join().statusCode()).isEqualTo(200);
            assertThat(second.join().statusCode()).isEqualTo(200);
            service.handler = service::store;
            await().untilAsserted(() -> assertThat(open(gateway)).isEqualTo(200));
        }
    }
}
