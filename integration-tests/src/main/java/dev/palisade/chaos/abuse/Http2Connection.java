package dev.palisade.chaos.abuse;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One HTTP/2 connection (RFC 9113) that keeps no rule it is not told to: libraries refuse to send what a flood needs. Header blocks
 * are literals without indexing. Never looks at flow control; {@link #isSpent()} says when the window of the receiver may be full.
 * One thread writes; a thread of its own reads and throws away.
 */
final class Http2Connection implements AutoCloseable {
    static final int END_STREAM = 1;
    static final int END_HEADERS = 4;

    private static final int DATA = 0;
    private static final int HEADERS = 1;
    private static final int RST_STREAM = 3;
    private static final int SETTINGS = 4;
    private static final int PING = 6;
    private static final int CONTINUATION = 9;
    private static final int ACK = 1;
    private static final int INITIAL_WINDOW_SIZE = 4;
    private static final int CANCEL = 8;

    private static final int CONNECT_MILLIS = 5_000;
    private static final byte[] PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    /** gRPC's servers announce windows of 1 MiB. */
    private static final int BYTES_MAX = 900_000;

    private static final int STREAMS_MAX = 100_000;

    private final Socket socket = new Socket();
    private final OutputStream out;
    private final CountDownLatch greeted = new CountDownLatch(1);
    private final AtomicBoolean ended = new AtomicBoolean();
    private int nextStream = 1;
    private int dataSent;

    /** Connects, and sends nothing yet. */
    Http2Connection(InetSocketAddress server) throws IOException {
        socket.connect(server, CONNECT_MILLIS);
        socket.setTcpNoDelay(true);
        out = socket.getOutputStream();
    }

    /** Connects, and exchanges settings. */
    static Http2Connection open(InetSocketAddress server) throws IOException {
        return open(server, 65_535);
    }

    /** @param window how much of each reply the server may send; 0: nothing is read */
    static Http2Connection open(InetSocketAddress server, int window) throws IOException {
        Http2Connection connection = new Http2Connection(server);
        try {
            connection.raw(PREFACE);
            connection.settings(window);
            connection.readInBackground();
            if (!connection.greeted.await(CONNECT_MILLIS, TimeUnit.MILLISECONDS)) {
                throw new IOException("no SETTINGS from " + server + " within " + CONNECT_MILLIS + " ms");
            }
            return connection;
        } catch (IOException e) {
            connection.close();
            throw e;
        } catch (InterruptedException e) {
            connection.close();
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
    }

    /** The first bytes of a connection, without anything that follows. */
    void preface() throws IOException {
        raw(PREFACE);
    }

    void raw(byte... bytes) throws IOException {
        out.write(bytes);
        out.flush();
    }

    void settings(int window) throws IOException {
        frame(
                SETTINGS,
                0,
                0,
                ByteBuffer.allocate(6)
                        .putShort((short) INITIAL_WINDOW_SIZE)
                        .putInt(window)
                        .array());
    }

    void ping() throws IOException {
        frame(PING, 0, 0, new byte[8]);
    }

    /** Opens a stream for a call of {@code path}, such as {@code /palisade.v1.Locks/Session}; returns its number. */
    int call(String path) throws IOException {
        int stream = nextStream;
        nextStream += 2;
        frame(HEADERS, END_HEADERS, stream, headers(path));
        return stream;
    }

    /** A header block that does not end: {@link #continuation} goes on with it. */
    int headersWithoutEnd(String path) throws IOException {
        int stream = nextStream;
        nextStream += 2;
        frame(HEADERS, 0, stream, headers(path));
        return stream;
    }

    void continuation(int stream, byte... block) throws IOException {
        frame(CONTINUATION, 0, stream, block);
    }

    /** One gRPC message. */
    void message(int stream, byte[] message, boolean last) throws IOException {
        byte[] framed = ByteBuffer.allocate(5 + message.length)
                .put((byte) 0)
                .putInt(message.length)
                .put(message)
                .array();
        int max = 16_384;
        for (int from = 0; from < framed.length; from += max) {
            int length = Math.min(max, framed.length - from);
            boolean end = last && from + length == framed.length;
            frame(
                    DATA,
                    end ? END_STREAM : 0,
                    stream,
                    ByteBuffer.allocate(length).put(framed, from, length).array());
        }
        dataSent += framed.length;
    }

    void reset(int stream) throws IOException {
        frame(RST_STREAM, 0, stream, ByteBuffer.allocate(4).putInt(CANCEL).array());
    }

    /** Whether the server has ended it, or its window or stream numbers may be used up: go on with another. */
    boolean isSpent() {
        return ended.get() || dataSent > BYTES_MAX || nextStream > 2 * STREAMS_MAX;
    }

    /** A header of that name and value, as it stands in a block. */
    static byte[] header(String name, String value) {
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        block.write(0);
        for (String text : new String[] {name, value}) {
            byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
            integer(block, bytes.length);
            block.writeBytes(bytes);
        }
        return block.toByteArray();
    }

    /** HPACK's integer with a prefix of seven bits. */
    private static void integer(ByteArrayOutputStream block, int value) {
        if (value < 127) {
            block.write(value);
            return;
        }
        block.write(127);
        int rest = value - 127;
        while (rest >= 128) {
            block.write(rest % 128 + 128);
            rest /= 128;
        }
        block.write(rest);
    }

    private static byte[] headers(String path) {
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        block.writeBytes(header(":method", "POST"));
        block.writeBytes(header(":scheme", "http"));
        block.writeBytes(header(":path", path));
        block.writeBytes(header(":authority", "localhost"));
        block.writeBytes(header("content-type", "application/grpc"));
        block.writeBytes(header("te", "trailers"));
        return block.toByteArray();
    }

    private synchronized void frame(int type, int flags, int stream, byte[] payload) throws IOException {
        out.write(ByteBuffer.allocate(9 + payload.length)
                .put((byte) (payload.length >> 16))
                .putShort((short) payload.length)
                .put((byte) type)
                .put((byte) flags)
                .putInt(stream)
                .put(payload)
                .array());
    }

    private void readInBackground() {
        Thread reader = new Thread(this::read, "abuse-reader");
        reader.setDaemon(true);
        reader.start();
    }

    private void read() {
        try {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            while (true) {
                int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
                int type = in.readUnsignedByte();
                int flags = in.readUnsignedByte();
                in.readInt();
                byte[] payload = in.readNBytes(length);
                if (type == SETTINGS && (flags & ACK) == 0) {
                    frame(SETTINGS, ACK, 0, new byte[0]);
                    greeted.countDown();
                } else if (type == PING && (flags & ACK) == 0) {
                    frame(PING, ACK, 0, payload);
                }
            }
        } catch (IOException e) {
            ended.set(true);
            greeted.countDown();
        }
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            // Nothing is left to save.
        }
    }
}
