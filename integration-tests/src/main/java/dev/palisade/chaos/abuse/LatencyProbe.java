package dev.palisade.chaos.abuse;

import com.google.protobuf.ByteString;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ReleaseRequest;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Another client: takes a free lock and gives it back, every 20 ms, and measures each call. */
final class LatencyProbe implements Runnable {
    private static final long PAUSE_MILLIS = 20;
    private static final long DEADLINE_MILLIS = 5_000;

    private final ManagedChannel channel;
    private final ByteString session;
    private final List<Long> micros = Collections.synchronizedList(new ArrayList<>());
    private long requests;
    private final AtomicInteger timeouts = new AtomicInteger();
    private final AtomicInteger failures = new AtomicInteger();
    private volatile boolean stopped;

    LatencyProbe(ManagedChannel channel, long number) {
        this.channel = channel;
        this.session = ByteString.copyFrom(
                ByteBuffer.allocate(16).putLong(2).putLong(number).array());
    }

    static ManagedChannel channel(String server) {
        return Grpc.newChannelBuilder(server, InsecureChannelCredentials.create())
                .build();
    }

    @Override
    public void run() {
        try {
            while (!stopped) {
                once();
                TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Acquires and releases once; returns whether the lock was granted. */
    boolean once() {
        LocksGrpc.LocksBlockingStub stub =
                LocksGrpc.newBlockingStub(channel).withDeadlineAfter(DEADLINE_MILLIS, TimeUnit.MILLISECONDS);
        String lock = "abuse/probe/" + ++requests;
        long begun = System.nanoTime();
        try {
            AcquireReply reply = stub.acquire(AcquireRequest.newBuilder()
                    .setLock(lock)
                    .setMode(Mode.EXCLUSIVE)
                    .setRequestId(requests)
                    .setSessionId(session)
                    .setTtlMillis(1_000)
                    .build());
            took(begun);
            if (!reply.hasGranted()) {
                return false;
            }
            begun = System.nanoTime();
            var unused = stub.release(ReleaseRequest.newBuilder()
                    .setLock(lock)
                    .setGrantId(reply.getGranted().getGrantId())
                    .setToken(reply.getGranted().getToken())
                    .setSessionId(session)
                    .build());
            took(begun);
            return true;
        } catch (StatusRuntimeException e) {
            took(begun);
            if (e.getStatus().getCode() == Status.Code.DEADLINE_EXCEEDED) {
                timeouts.incrementAndGet();
            } else {
                failures.incrementAndGet();
            }
            return false;
        }
    }

    private void took(long begunNanos) {
        micros.add((System.nanoTime() - begunNanos) / 1_000);
    }

    void stop() {
        stopped = true;
    }

    int calls() {
        return micros.size();
    }

    int timeouts() {
        return timeouts.get();
    }

    int failures() {
        return failures.get();
    }

    /** What {@code percent} of the calls did not exceed, in milliseconds; 0 when there was none. */
    double millis(double percent) {
        List<Long> sorted;
        synchronized (micros) {
            sorted = new ArrayList<>(micros);
        }
        if (sorted.isEmpty()) {
            return 0;
        }
        Collections.sort(sorted);
        int rank = (int) Math.ceil(percent / 100 * sorted.size());
        return sorted.get(Math.max(1, rank) - 1) / 1e3;
    }
}
