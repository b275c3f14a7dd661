package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.server.access.AccessControl;
import dev.palisade.server.admin.AdminRequest;
import dev.palisade.server.rpc.Served;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpContent;
import io.netty.util.ReferenceCountUtil;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Server-sent events of the admin port, on real sockets. */
class EventStreamsTest {
    /** A connection without a stream lasts 2 s; a stream without news has a comment every 100 ms. */
    private static final AdminPort.Times TIMES = new AdminPort.Times(2_000, 100);

    @TempDir
    Path folder;

    private @Nullable AdminServed admin;

    @AfterEach
    void close() throws IOException {
        if (admin != null) {
            admin.close();
        }
    }

    private static BufferedReader followed(AdminServed admin, String path, String token) throws IOException {
        Socket socket = admin.connected();
        String request = "GET /api/v1/" + path + " HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                + (token.isEmpty() ? "" : "Authorization: Bearer " + token + "\r\n") + "\r\n";
        socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
        return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
    }

    /** The next line that begins so; all lines before it are passed over. */
    private static String line(BufferedReader in, String beginning) throws IOException {
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.startsWith(beginning)) {
                return line;
            }
        }
        throw new AssertionError("the stream ended without " + beginning);
    }

    private static void acquire(AdminServed admin, String lock) {
        var unused = admin.served
                .unary()
                .acquire(Served.acquire(lock, 1, 0)
                        .setSessionId(Served.session(1))
                        .build());
    }

    @Test
    void aStreamTellsChangesAndLivesWithoutThem() throws Exception {
        AdminServed serving = new AdminServed(folder.resolve("locks"), null, TIMES);
        admin = serving;
        BufferedReader in = followed(serving, "locks?prefix=a", "");
        assertThat(line(in, "HTTP/1.1")).startsWith("HTTP/1.1 200 ");
        assertThat(line(in, "content-type")).isEqualTo("content-type: text/event-stream");
        assertThat(line(in, "data: ")).contains("\"locks\":[]");
        for (int i = 0; i < 25; i++) { // For longer than a connection lasts.
            assertThat(line(in, ":")).as("a comment, because nothing changed").isEqualTo(":");
        }
        acquire(serving, "b");
        acquire(serving, "a");
        assertThat(line(in, "data: ")).contains("\"lock\":\"a\"").doesNotContain("\"lock\":\"b\"");
    }

    @Test
    void aStreamEndsWithItsToken() throws Exception {
        AdminUsers users = new AdminUsers(folder, List.of("allow alice describe *"));
        String token = users.add("alice");
        var unusedOther = users.add("bob");
        AccessControl access = users.load();
        AdminServed serving = new AdminServed(folder.resolve("locks"), access, new AdminPort.Times(10_000, 100));
        admin = serving;
        BufferedReader in = followed(serving, "locks", token);
        assertThat(line(in, "data: ")).contains("\"locks\":[]");
        users.remove("alice");
        await().until(() -> !access.reload().replaced().isEmpty());
        assertThat(line(in, "event: ")).isEqualTo("event: problem");
        assertThat(line(in, "data: "))
                .contains("\"status\":401", "UNAUTHENTICATED")
                .doesNotContain(token);
        assertThat(in.lines()).as("the rest").allMatch(line -> line.isEmpty() || line.equals("0"));
    }

    @Test
    void refusalsBeginNoStream() throws Exception {
        AdminUsers users = new AdminUsers(folder, List.of("allow alice describe *"));
        String token = users.add("alice");
        AdminServed serving = new AdminServed(folder.resolve("locks"), users.load());
        admin = serving;
        assertThat(line(followed(serving, "store", token), "HTTP/1.1")).startsWith("HTTP/1.1 403 ");
        assertThat(line(followed(serving, "store", "palisade_wrong"), "HTTP/1.1"))
                .startsWith("HTTP/1.1 401 ");
        assertThat(line(followed(serving, "none", token), "HTTP/1.1")).startsWith("HTTP/1.1 404 ");
    }

    @Test
    void resourcesThatAreOpenToAllAreSentOnce() throws Exception {
        AdminUsers users = new AdminUsers(folder, List.of("allow alice describe *"));
        var unused = users.add("alice");
        AdminServed serving = new AdminServed(folder.resolve("locks"), users.load());
        admin = serving;
        for (String path : List.of("openapi.yaml", "caller")) {
            assertThat(line(followed(serving, path, ""), "content-type"))
                    .as(path)
                    .doesNotContain("event-stream");
        }
    }

    /** Its last write never completes, so a close that waits for that never comes. */
    @Test
    void endOfAStreamThatIsNotReadClosesItsConnection() throws Exception {
        AdminServed serving = new AdminServed(folder.resolve("locks"), null);
        admin = serving;
        EmbeddedChannel connection = new EmbeddedChannel(new ChannelOutboundHandlerAdapter() {
            @Override
            public void write(ChannelHandlerContext unread, Object message, ChannelPromise promise) {
                ReferenceCountUtil.release(message);
            }
        });
        EventStreams streams = new EventStreams(serving.api, connection.eventLoop(), 100);
        AtomicReference<Object> begun = new AtomicReference<>();
        connection.pipeline().addLast(new ChannelOutboundHandlerAdapter() {
            @Override
            public void write(ChannelHandlerContext next, Object message, ChannelPromise promise) {
                begun.set(message);
                var unused = next.write(message, promise);
            }
        });
        connection.pipeline().addLast(new ChannelInboundHandlerAdapter());
        streams.open(
                connection.pipeline().lastContext(),
                new AdminRequest(
                        "GET",
                        "/api/v1/store",
                        name -> name.equals("host") ? List.of("localhost") : List.of(),
                        "",
                        null,
                        null),
                refused -> begun.set(refused));
        await().until(() -> {
            connection.runPendingTasks();
            return begun.get() instanceof HttpContent;
        });
        streams.endAll();
        assertThat(connection.isOpen()).isTrue();
        connection.advanceTimeBy(1, TimeUnit.SECONDS);
        connection.runScheduledPendingTasks();
        assertThat(connection.isOpen()).isFalse();
    }

    @Test
    void streamsAreBoundedAndLeaveRoomForOthers() throws Exception {
        AdminServed serving = new AdminServed(folder.resolve("locks"), null);
        admin = serving;
        List<BufferedReader> streams = new ArrayList<>();
        for (int i = 0; i < EventStreams.STREAMS_MAX; i++) {
            BufferedReader in = followed(serving, "store", "");
            var unused = line(in, "data: ");
            streams.add(in);
        }
        BufferedReader surplus = followed(serving, "store", "");
        assertThat(line(surplus, "HTTP/1.1")).startsWith("HTTP/1.1 503 ");
        assertThat(line(surplus, "retry-after")).isEqualTo("retry-after: 1");
        assertThat(serving.get("/api/v1/store", null).status()).isEqualTo(200);
        assertThat(serving.get("/health/live", null).status()).isEqualTo(200);
        serving.port.endStreams();
        for (BufferedReader each : streams) {
            assertThat(each.lines()).isNotNull().allMatch(line -> !line.startsWith("HTTP/1.1"));
        }
        assertThat(line(followed(serving, "store", ""), "HTTP/1.1")).startsWith("HTTP/1.1 200 ");
    }
}
