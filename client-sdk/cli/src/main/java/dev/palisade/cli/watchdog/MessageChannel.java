package dev.palisade.cli.watchdog;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * The message channel between {@code palisade run} and its watchdog: a Unix domain socket, which the system closes as
 * soon as the peer process dies. One thread reads; any thread sends.
 */
public final class MessageChannel implements Closeable {
    // Far above the longest command line of a system.
    private static final int BYTES_MAX = 64 << 20;

    private final SocketChannel socket;

    public MessageChannel(SocketChannel socket) {
        this.socket = socket;
    }

    /** @throws IOException when the peer has ended */
    public synchronized void send(Message message) throws IOException {
        byte[] bytes = Codec.bytes(message);
        ByteBuffer frame = ByteBuffer.allocate(Integer.BYTES + bytes.length);
        frame.putInt(bytes.length).put(bytes).flip();
        while (frame.hasRemaining()) {
            socket.write(frame);
        }
    }

    /**
     * Blocks for the next message.
     *
     * @throws IOException when the peer has ended
     */
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
            if (socket.read(buffer) < 0) {
                throw new EOFException("the other process is gone");
            }
        }
        return buffer.flip();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
