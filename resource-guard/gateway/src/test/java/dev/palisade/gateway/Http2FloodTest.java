package dev.palisade.gateway;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Frames of HTTP/2 that each demand a reply, from a client that reads none, on a socket of the test's own. */
class Http2FloodTest {
    private static final byte[] PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(US_ASCII);

    /** Many times what the buffers of two sockets hold of their replies. */
    private static final int FRAMES_MAX = 1_500_000;

    private static final int FRAMES_AT_ONCE = 500;

    /** Stays behind: gateways are closed in the background. */
    @TempDir(cleanup = CleanupMode.NEVER)
    static Path directory;

    private static PlainService service;
    private static GatewayFixture gateway;

    @BeforeAll
    static void start() {
        service = new PlainService();
        gateway = new GatewayFixture(directory, service);
    }

    @AfterAll
    static void stop() {
        gateway.close();
        service.close();
    }

    private enum Flood {
        /** Acknowledged by the HTTP library. */
        PING {
            @Override
            byte[] frame(int number) {
                return Http2FloodTest.frame(6, 0, 0, new byte[8]);
            }
        },
        SETTINGS {
            @Override
            byte[] frame(int number) {
                return Http2FloodTest.frame(4, 0, 0, new byte[0]);
            }
        },
        /** Answered by 404, or by a reset beyond the limit of streams. */
        REQUESTS {
            @Override
            byte[] frame(int number) {
                return Http2FloodTest.frame(1, 5, 2 * number + 1, new byte[] {(byte) 0x82, (byte) 0x84, (byte) 0x86});
            }
        };

        abstract byte[] frame(int number);
    }

    private static byte[] frame(int type, int flags, int stream, byte[] payload) {
        ByteArrayOutputStream frame = new ByteArrayOutputStream();
        frame.write(payload.length >> 16);
        frame.write(payload.length >> 8);
        frame.write(payload.length);
        frame.write(type);
        frame.write(flags);
        for (int shift = 24; shift >= 0; shift -= 8) {
            frame.write(stream >> shift);
        }
        frame.writeBytes(payload);
        return frame.toByteArray();
    }

    /** Of the payload that follows the nine bytes of that frame's head. */
    private static int length(byte[] head) {
        return ((head[0] & 0xff) << 16) | ((head[1] & 0xff) << 8) | (head[2] & 0xff);
    }

    private static Socket connect() throws IOException {
        Socket socket = new Socket();
        socket.setReceiveBufferSize(4_096);
        socket.setSoTimeout(60_000);
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), gateway.gateway.port()));
        socket.getOutputStream().write(PREFACE);
        socket.getOutputStream().write(frame(4, 0, 0, new byte[0]));
        return socket;
    }

    @ParameterizedTest
    @EnumSource
    void repliesThatAreNotReadAreBounded(Flood flood) throws Exception {
        int sent = 0;
        try (Socket socket = connect()) {
            OutputStream out = socket.getOutputStream();
            while (sent < FRAMES_MAX) {
                ByteArrayOutputStream frames = new ByteArrayOutputStream();
                for (int i = 0; i < FRAMES_AT_ONCE; i++) {
                    frames.writeBytes(flood.frame(sent++));
                }
                frames.writeTo(out);
            }
        } catch (IOException e) {
            assertThat(gateway.send(HttpRequest.newBuilder(gateway.uri("/open/x")))
                            .statusCode())
                    .as("others are served")
                    .isEqualTo(200);
            return;
        }
        throw new AssertionError("the connection is open after " + sent + " frames");
    }

    /** As many as a client may send whose replies are read. */
    @Test
    void pingsWhoseRepliesAreReadPass() throws Exception {
        try (Socket socket = connect()) {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            int acknowledged = 0;
            for (int i = 0; i < 20; i++) {
                for (int j = 0; j < FRAMES_AT_ONCE; j++) {
                    socket.getOutputStream().write(Flood.PING.frame(j));
                }
                while (acknowledged < (i + 1) * FRAMES_AT_ONCE) {
                    byte[] head = in.readNBytes(9);
                    in.readNBytes(length(head));
                    acknowledged += head[3] == 6 && head[4] == 1 ? 1 : 0;
                }
            }
        }
    }

    /** Routed by one of them and served by the other, it would pass under a wrong lock, or as a read. */
    private enum Twice {
        HOST("\0\4host\1b"),
        AUTHORITY("\1\1b"),
        METHOD("\u0083");

        private final String second;

        /** @param second its bytes by HPACK */
        Twice(String second) {
            this.second = second;
        }
    }

    @ParameterizedTest
    @EnumSource
    void headerThatContradictsAnotherIsRefused(Twice twice) throws Exception {
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        block.writeBytes(new byte[] {(byte) 0x82, (byte) 0x86, 4, 7});
        block.writeBytes("/open/x".getBytes(US_ASCII));
        block.writeBytes(new byte[] {1, 1, 'a'});
        block.writeBytes(twice.second.getBytes(ISO_8859_1));
        try (Socket socket = connect()) {
            socket.getOutputStream().write(frame(1, 5, 1, block.toByteArray()));
            DataInputStream in = new DataInputStream(socket.getInputStream());
            while (true) {
                byte[] head = in.readNBytes(9);
                byte[] payload = in.readNBytes(length(head));
                if (head[3] == 1) {
                    assertThat(payload[0]).as("status 400, by its index").isEqualTo((byte) 0x8c);
                    return;
                }
                assertThat(head[3]).as("no reset and no end").isNotIn((byte) 3, (byte) 7);
            }
        }
    }

    /** Both frames are read at once: the next request of a holder must not overtake the end of the one that it gave up. */
    @Test
    void resetIsHeardBeforeTheNextRequestOfItsConnection() throws Exception {
        CompletableFuture<Void> mayEnd = service.hold();
        try (Socket socket = connect()) {
            OutputStream out = socket.getOutputStream();
            out.write(headers("PUT", "/items/1", 1));
            out.write(frame(0, 1, 1, "new".getBytes(US_ASCII)));
            Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> service.begun.contains("PUT /items/1"));
            ByteArrayOutputStream frames = new ByteArrayOutputStream();
            frames.writeBytes(frame(3, 0, 1, new byte[] {0, 0, 0, 8}));
            frames.writeBytes(headers("GET", "/items/1", 3));
            frames.writeBytes(headers("GET", "/open/after", 5));
            frames.writeTo(out);
            Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> service.begun.contains("GET /open/after"));
            assertThat(service.begun).as("beside the holder's own write").doesNotContain("GET /items/1");
            mayEnd.complete(null);
            Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> service.begun.contains("GET /items/1"));
        }
        assertThat(service.applied).contains("/items/1 3");
    }

    /** Some clients lose a response that a reset follows at once. */
    @Test
    void refusedClientThatStillSendsItsBodySeesTheWholeResponse() throws Exception {
        try (Socket socket = connect()) {
            OutputStream out = socket.getOutputStream();
            out.write(headers("PUT", "/nowhere", 1));
            DataInputStream in = new DataInputStream(socket.getInputStream());
            readUntil(in, head -> head[3] <= 1 && (head[4] & 1) == 1);
            out.write(frame(0, 0, 1, "more".getBytes(US_ASCII)));
            out.write(Flood.PING.frame(0));
            readUntil(in, head -> head[3] == 6 && head[4] == 1);
            out.write(frame(0, 1, 1, "the end".getBytes(US_ASCII)));
            out.write(headers("GET", "/open/after", 3));
            readUntil(in, head -> head[3] <= 1 && head[8] == 3 && (head[4] & 1) == 1);
        }
    }

    @Test
    void refusedClientThatSendsOnAndOnIsReset() throws Exception {
        try (Socket socket = connect()) {
            socket.getOutputStream().write(headers("PUT", "/nowhere", 1));
            DataInputStream in = new DataInputStream(socket.getInputStream());
            byte[] head;
            do {
                head = in.readNBytes(9);
                in.readNBytes(length(head));
            } while (head[3] != 3);
            assertThat(head[8]).isEqualTo((byte) 1);
        }
    }

    /** Fails at a reset, or at the end of the connection. */
    private static void readUntil(DataInputStream in, Predicate<byte[]> last) throws IOException {
        byte[] head;
        do {
            head = in.readNBytes(9);
            in.readNBytes(length(head));
            assertThat(head[3]).as("no reset and no end").isNotIn((byte) 3, (byte) 7);
        } while (!last.test(head));
    }

    /** All fields as literals; without a body when the method has none. */
    private static byte[] headers(String method, String path, int stream) {
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        List.of(
                        ":method",
                        method,
                        ":scheme",
                        "http",
                        ":path",
                        path,
                        ":authority",
                        "localhost",
                        "fencing-sequencer",
                        gateway.locks.exclusive("items/1", 33))
                .forEach(text -> {
                    if (text.startsWith(":") || text.equals("fencing-sequencer")) {
                        block.write(0);
                    }
                    int length = text.length();
                    block.write(Math.min(length, 127));
                    for (int rest = length - 127; rest >= 0; rest = rest < 128 ? -1 : rest >> 7) {
                        block.write(rest < 128 ? rest : (rest & 127) | 128);
                    }
                    block.writeBytes(text.getBytes(US_ASCII));
                });
        return frame(1, method.equals("GET") ? 5 : 4, stream, block.toByteArray());
    }
}
