package dev.palisade.guard.s3;

import java.io.IOException;
import java.io.InputStream;
import software.amazon.awssdk.http.Abortable;

/**
 * The user's part of a stored body: ends before the trailer, and only after the trailer was found to be that of the
 * object's write id. Not safe for use by several threads at once.
 */
final class ContentStream extends InputStream implements Abortable {
    private final InputStream stored;
    private final Abortable connection;
    private final WriteId writeId;
    private long left;
    private boolean ended;

    /** @param length of the user's part, in bytes */
    <T extends InputStream & Abortable> ContentStream(T stored, WriteId writeId, long length) {
        this.stored = stored;
        this.connection = stored;
        this.writeId = writeId;
        this.left = length;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    /** @throws IOException also when the body is shorter, or ends with another trailer */
    @Override
    public int read(byte[] into, int from, int length) throws IOException {
        if (left == 0) {
            checkTrailer();
            return -1;
        }
        int read = stored.read(into, from, (int) Math.min(length, left));
        if (read < 0) {
            throw new IOException("the object ends " + left + " bytes early");
        }
        left -= read;
        return read;
    }

    private void checkTrailer() throws IOException {
        if (!ended) {
            boolean genuine = writeId.isTrailer(stored.readNBytes(WriteId.TRAILER_BYTES)) && stored.read() < 0;
            if (!genuine) {
                throw new IOException("the body is not the one that FencedS3 wrote with these metadata:"
                        + " something else changed the object");
            }
            ended = true;
        }
    }

    @Override
    public void abort() {
        connection.abort();
    }

    @Override
    public void close() throws IOException {
        stored.close();
    }
}
