package dev.palisade.faults;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One direction of a connection of a {@link Link}: one thread receives bytes, another delivers them in order, then the
 * end of the stream. The buffer is bounded; a full buffer blocks the sender, like a network.
 */
final class Flow {
    /** Bytes with their time of arrival. Each chunk is delayed separately; delays do not add up. */
    private record Chunk(ByteString bytes, long takenNanos) {}

    private static final int CHUNK_BYTES = 16 << 10;
    private static final int CHUNKS_MAX = 256;

    private final Socket source;
    private final Socket sink;
    private final LongSupplier delayNanos;
    private final Runnable ended;
    private final Deque<Chunk> taken = new ArrayDeque<>();
    private boolean held;
    private boolean endTaken;
    private boolean stopped;

    /**
     * @param ended is run when the source has ended and everything before its end was delivered, or the sink is gone
     */
    Flow(Socket source, Socket sink, LongSupplier delayNanos, Runnable ended) {
        this.source = source;
        this.sink = sink;
        this.delayNanos = delayNanos;
        this.ended = ended;
    }

    void start() {
        start(this::take);
        start(this::deliver);
    }

    synchronized void hold(boolean hold) {
        held = hold;
        notifyAll();
    }

    synchronized long heldBytes() {
        return held ? taken.stream().mapToLong(chunk -> chunk.bytes().size()).sum() : 0;
    }

    synchronized void stop() {
        stopped = true;
        notifyAll();
    }

    private void take() {
        byte[] buffer = new byte[CHUNK_BYTES];
        try {
            InputStream in = source.getInputStream();
            for (int length = in.read(buffer); length >= 0; length = in.read(buffer)) {
                put(new Chunk(ByteString.copyFrom(buffer, 0, length), System.nanoTime()));
            }
        } catch (IOException e) {
            // The connection was cut or has ended.
        }
        synchronized (this) {
            endTaken = true;
            notifyAll();
        }
    }

    private synchronized void put(Chunk chunk) {
        taken.add(chunk);
        notifyAll();
        try {
            while (!stopped && taken.size() >= CHUNKS_MAX) {
                wait();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void deliver() {
        try {
            for (Chunk chunk = next(); chunk != null; chunk = next()) {
                LockSupport.parkNanos(chunk.takenNanos() + delayNanos.getAsLong() - System.nanoTime());
                chunk.bytes().writeTo(sink.getOutputStream());
            }
        } catch (IOException e) {
            // The connection was cut or has ended.
        }
        ended.run();
    }

    /** The next chunk, still counted as held until it may go; null at the end. */
    @Nullable
    private synchronized Chunk next() {
        try {
            while (!stopped && (held || (taken.isEmpty() && !endTaken))) {
                wait();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
        notifyAll();
        return stopped ? null : taken.poll();
    }

    static void start(Runnable work) {
        Thread thread = new Thread(work, "link");
        thread.setDaemon(true);
        thread.start();
    }

    /** Makes {@link #close} send a reset instead of an end of stream. */
    static void resetOnClose(Socket socket) {
        try {
            socket.setSoLinger(true, 0);
        } catch (IOException e) {
            // Closed already.
        }
    }

    static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // Closed all the same.
        }
    }
}
