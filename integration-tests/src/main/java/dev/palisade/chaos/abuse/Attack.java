package dev.palisade.chaos.abuse;

import com.google.protobuf.ByteString;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.Hello;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** What one run of a flood has open, and how far it is. One thread uses it. */
final class Attack implements AutoCloseable {
    static final String OWNER = "abuse";

    private final InetSocketAddress server;
    private final Random random;
    private final List<Http2Connection> open = new ArrayList<>();
    private Http2Connection current;
    private int stream;
    private int steps;

    Attack(InetSocketAddress server, long seed) throws IOException {
        this.server = server;
        this.random = new Random(seed);
        this.current = Http2Connection.open(server);
    }

    InetSocketAddress server() {
        return server;
    }

    int steps() {
        return steps;
    }

    void next(Flood flood) throws IOException {
        steps++;
        flood.step(this);
    }

    /** One that can still be written to. */
    Http2Connection connection() throws IOException {
        return current.isSpent() ? newConnection() : current;
    }

    Http2Connection newConnection() throws IOException {
        current.close();
        current = Http2Connection.open(server);
        return current;
    }

    /** The one that all steps share, with a window of that size. */
    Http2Connection kept(int window) throws IOException {
        if (open.isEmpty()) {
            keep(Http2Connection.open(server, window));
        }
        return open.get(0).isSpent() ? keep(Http2Connection.open(server, window)) : open.get(open.size() - 1);
    }

    Http2Connection keep(Http2Connection connection) {
        open.add(connection);
        return connection;
    }

    void stream(int number) {
        stream = number;
    }

    int stream() {
        return stream;
    }

    byte[] junk(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        // A length that goes far beyond the end: never a message by chance.
        Arrays.fill(bytes, 0, 6, (byte) 0xff);
        return bytes;
    }

    /** Random id of an unknown session or grant. */
    ByteString id() {
        byte[] id = new byte[16];
        random.nextBytes(id);
        return ByteString.copyFrom(id);
    }

    byte[] hello() {
        return ClientFrame.newBuilder()
                .setHello(Hello.newBuilder().setSessionId(id()).setSessionGen(1).setOwner(OWNER))
                .build()
                .toByteArray();
    }

    @Override
    public void close() {
        current.close();
        open.forEach(Http2Connection::close);
    }
}
