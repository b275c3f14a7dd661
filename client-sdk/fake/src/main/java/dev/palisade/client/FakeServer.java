package dev.palisade.client;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.LockName;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.contract.crypto.SequencerVerifier;
import dev.palisade.server.core.Limits;
import dev.palisade.server.engine.EngineConfig;
import dev.palisade.server.engine.LockEngine;
import dev.palisade.server.engine.Timer;
import dev.palisade.server.rpc.AcquireTracer;
import dev.palisade.server.rpc.LocksRpc;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A fake server process: the real lock server without disk and network, which can be stopped and started. It has no
 * thread.
 */
final class FakeServer {
    /** The default issuer of a server. */
    private static final String ISSUER = "palisade";

    private static final long GRACE_MILLIS = 1_000;
    private static final long UNSENT_BYTES_MAX = 64 << 20;
    private static final int CALLS_IN_FLIGHT_MAX = 4_096;
    private static final int LOCKS_PER_SESSION_MAX = 100_000;
    private static final int SESSIONS_MAX = 10_000;

    private final String name = "palisade-fake-" + UUID.randomUUID();
    private final SequencerKeys keys = SequencerKeys.generate();
    private final ManualTime time;
    private final DirectExecutor executor;
    private FakeStore store;
    private int starts;

    @Nullable
    private Server server;

    @Nullable
    private AcquireTracer tracer;

    private AtomicBoolean running = new AtomicBoolean();

    FakeServer(ManualTime time, DirectExecutor executor) {
        this.time = time;
        this.executor = executor;
        this.store = new FakeStore(time);
    }

    boolean running() {
        return running.get();
    }

    void start() {
        if (starts++ > 0) {
            store = store.restarted();
        }
        FakeStore ours = store;
        AtomicBoolean alive = new AtomicBoolean(true);
        byte[] serverRandom = new byte[32];
        Arrays.fill(serverRandom, (byte) starts);
        Timer timer = (millis, task) -> {
            var unused = time.schedule(millis * 1_000_000, () -> {
                if (alive.get()) {
                    executor.execute(() -> run(task, ours));
                }
            });
        };
        LockEngine engine = new LockEngine(
                ours,
                keys::sign,
                keys.verifier(ISSUER)::verify,
                new EngineConfig(ISSUER, GRACE_MILLIS, LOCKS_PER_SESSION_MAX, SESSIONS_MAX),
                timer,
                EventLog.NONE,
                serverRandom);
        LocksRpc locks = new LocksRpc(
                engine, Limits.DEFAULTS, "fake", CALLS_IN_FLIGHT_MAX, UNSENT_BYTES_MAX, timer, Runnable::run);
        AcquireTracer recorder = tracer;
        if (recorder != null) {
            locks.trace(recorder);
        }
        try {
            server = InProcessServerBuilder.forName(name)
                    .executor(task -> executor.execute(() -> run(task, ours)))
                    .addService(locks.service())
                    .build()
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        running = alive;
    }

    /** Sets the tracer from the next start on. */
    void trace(AcquireTracer recorder) {
        tracer = recorder;
    }

    /** Stops as a kill does: no session is abandoned, and pending calls get no reply. */
    void stop() {
        running.set(false);
        store.close();
        Server stopping = server;
        if (stopping != null) {
            executor.execute(stopping::shutdownNow);
        }
    }

    void expire(LockName lock) {
        executor.execute(() -> run(() -> store.expire(lock), store));
    }

    SequencerVerifier verifier() {
        return keys.verifier(ISSUER);
    }

    ManagedChannel channel(FakeLink link) {
        return InProcessChannelBuilder.forName(name)
                .directExecutor()
                .intercept(link)
                .build();
    }

    private static void run(Runnable task, FakeStore store) {
        task.run();
        store.drain();
    }
}
