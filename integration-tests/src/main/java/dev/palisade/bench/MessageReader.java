package dev.palisade.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * Reader of the small HTTP/1.1 messages of one connection, one at a time and each with a Content-Length or no body. It
 * reads as little of them as possible, so that neither the load nor the service is what is measured. One thread uses it.
 */
final class MessageReader {
    private static final byte[] LENGTH = "content-length:".getBytes(US_ASCII);

    private final ByteBuffer buffer = ByteBuffer.allocate(16 << 10);

    /**
     * Reads what has come, and returns whether a message is complete; it is forgotten then.
     *
     * @param start of every message; empty: any
     * @throws IOException when the connection has ended, or something else has come
     */
    boolean read(SocketChannel channel, byte[] start) throws IOException {
        if (channel.read(buffer) <= 0) {
            throw new EOFException("the connection was closed");
        }
        byte[] bytes = buffer.array();
        int count = buffer.position();
        int head = headEnd(bytes, count);
        if (head < 0 || count < head + contentLength(bytes, head)) {
            return false;
        }
        for (int i = 0; i < start.length; i++) {
            if (bytes[i] != start[i]) {
                throw new IOException("the response was " + new String(bytes, 0, count, US_ASCII).replace("\r\n", " "));
            }
        }
        buffer.clear();
        return true;
    }

    /** Where the head of the message ends; -1 when it has not come whole. */
    private static int headEnd(byte[] bytes, int count) {
        for (int i = 3; i < count; i++) {
            if (bytes[i] == '\n' && bytes[i - 2] == '\n' && bytes[i - 1] == '\r') {
                return i + 1;
            }
        }
        return -1;
    }

    private static int contentLength(byte[] bytes, int head) {
        for (int i = 1; i < head; i++) {
            if (bytes[i - 1] == '\n' && isLength(bytes, i)) {
                int length = 0;
                for (int at = i + LENGTH.length; bytes[at] != '\r'; at++) {
                    length = bytes[at] == ' ' ? length : 10 * length + bytes[at] - '0';
                }
                return length;
            }
        }
        return 0;
    }

    private static boolean isLength(byte[] bytes, int from) {
        for (int i = 0; i < LENGTH.length; i++) {
            if ((bytes[from + i] | 0x20) != (LENGTH[i] | 0x20)) {
                return false;
            }
        }
        return true;
    }
}
