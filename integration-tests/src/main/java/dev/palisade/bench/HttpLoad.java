package dev.palisade.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.palisade.bench.Rounds.Measured;
import dev.palisade.scenario.ScenarioFailed;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Closed-loop HTTP/1.1 client: each connection sends its request again when the response to the last one has come. One
 * thread serves all connections, without a library, so that it takes little of the processors. One thread uses it.
 */
final class HttpLoad implements AutoCloseable {
    private static final byte[] OK = "HTTP/1.1 200 ".getBytes(US_ASCII);

    /** How long nothing may come. */
    private static final long PATIENCE_MILLIS = TimeUnit.MINUTES.toMillis(1);

    private static final class Connection {
        final SocketChannel channel;
        final ByteBuffer request;
        final MessageReader responses = new MessageReader();
        long sentNanos;

        Connection(SocketChannel channel, byte[] request) {
            this.channel = channel;
            this.request = ByteBuffer.allocateDirect(request.length).put(request);
        }

        void send() throws IOException {
            request.flip();
            sentNanos = System.nanoTime();
            while (request.hasRemaining()) {
                var unused = channel.write(request);
            }
        }
    }

    private final Selector selector = Selector.open();
    private final List<Connection> connections = new ArrayList<>();

    /** @param requests of each connection one, shorter than a socket's buffer */
    HttpLoad(String address, List<byte[]> requests) throws IOException {
        int colon = address.lastIndexOf(':');
        InetSocketAddress server =
                new InetSocketAddress(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
        for (byte[] request : requests) {
            SocketChannel channel = SocketChannel.open(server);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            channel.configureBlocking(false);
            Connection connection = new Connection(channel, request);
            connections.add(connection);
            channel.register(selector, SelectionKey.OP_READ, connection);
        }
    }

    /** @throws ScenarioFailed when a request was not answered with 200 */
    Measured run(Map<String, LongSupplier> clocks, Duration time) {
        try {
            Samples waits = new Samples();
            Usage usage = Usage.begin(clocks);
            long until = System.nanoTime() + time.toNanos();
            for (Connection each : connections) {
                each.send();
            }
            int running = connections.size();
            while (running > 0) {
                if (selector.select(PATIENCE_MILLIS) == 0) {
                    throw new ScenarioFailed("no response came within " + PATIENCE_MILLIS / 1_000 + " s");
                }
                for (SelectionKey key : selector.selectedKeys()) {
                    Connection connection = (Connection) key.attachment();
                    if (connection.responses.read(connection.channel, OK)) {
                        long now = System.nanoTime();
                        waits.add(now - connection.sentNanos);
                        if (now - until < 0) {
                            connection.send();
                        } else {
                            running--;
                        }
                    }
                }
                selector.selectedKeys().clear();
            }
            return usage.end(waits.count(), waits.figures());
        } catch (IOException e) {
            throw new ScenarioFailed("a request failed: " + e.getMessage());
        }
    }

    @Override
    public void close() throws IOException {
        for (Connection each : connections) {
            each.channel.close();
        }
        selector.close();
    }
}
