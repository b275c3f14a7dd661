package dev.palisade.cli.watchdog;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * The private channel between {@code palisade run} and its watchdog: a Unix domain socket, whose end the system tells at once when
 * the process at the other end dies, however it dies. One thread reads; any thread sends.
 */
public final class Link implements Closeable {
    // Far above the longest command line of a system.
    private static final int BYTES_MAX = 64 << 20;

    private final SocketChannel channel;

    public Link(SocketChannel channel) {
        this.channel = channel;
    }

    /** @throws IOException when the other process is gone */
    public synchronized void send(Message message) throws IOException {
        byte[] bytes = Codec.bytes(message);
        ByteBuffer frame = ByteBuffer.allocate(Integer.BYTES + bytes.length);
        frame.putInt(bytes.length).put(bytes).flip();
        while (frame.hasRemaining()) {
            channel.write(frame);
        }
    }

    /** Blocks for the next message; @throws IOException when there will be none, because the other process is gone. */
    public Message receive() throws IOException {
        int length = read(Integer.BYTES).getInt();
        if (length <= 0 || length > BYTES_MAX) {
            throw new IOException("a message of " + length + " bytes");
        }
        return Codec.message(read(length).array());
    }

    private ByteBuffer read(int bytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(bytes);
        while (buffer.hasRemaining()) {
            if (channel.read(buffer) < 0) {
                throw new EOFException("the other process is gone");
            }
        }
        return buffer.flip();
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
