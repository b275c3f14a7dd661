package dev.palisade.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/**
 * HTTP/1.1 service of a process of its own that answers every request with the same 100 bytes, at once. One thread
 * serves all connections, so that it takes little of the processors.
 */
final class BenchHttpService {
    private static final byte[] RESPONSE = ("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n"
                    + "r".repeat(100))
            .getBytes(US_ASCII);

    private BenchHttpService() {}

    /** Listens on a free port and says so; arguments are ignored. */
    public static void main(String[] args) throws IOException {
        try (Selector selector = Selector.open();
                ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1_024);
            server.configureBlocking(false);
            server.register(selector, SelectionKey.OP_ACCEPT);
            System.out.println("listening on 127.0.0.1:" + server.socket().getLocalPort());
            ByteBuffer response = ByteBuffer.allocateDirect(RESPONSE.length).put(RESPONSE);
            while (true) {
                var unused = selector.select();
                for (SelectionKey key : selector.selectedKeys()) {
                    if (key.isAcceptable()) {
                        SocketChannel client = server.accept();
                        client.setOption(StandardSocketOptions.TCP_NODELAY, true);
                        client.configureBlocking(false);
                        client.register(selector, SelectionKey.OP_READ, new MessageReader());
                    } else {
                        serve((SocketChannel) key.channel(), (MessageReader) key.attachment(), response);
                    }
                }
                selector.selectedKeys().clear();
            }
        }
    }

    private static void serve(SocketChannel client, MessageReader requests, ByteBuffer response) throws IOException {
        try {
            if (requests.read(client, new byte[0])) {
                response.flip();
                while (response.hasRemaining()) {
                    var unused = client.write(response);
                }
            }
        } catch (IOException e) {
            client.close(); // Its client has gone.
        }
    }
}
