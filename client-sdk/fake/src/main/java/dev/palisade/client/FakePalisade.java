package dev.palisade.client;

import dev.palisade.contract.crypto.SequencerVerifier;
import dev.palisade.server.rpc.AcquireTracer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;

/**
 * A lock service for tests: real {@link PalisadeClient}s before the real lock machine, without a network, a process, a
 * disk or a moment's sleep. It lives in the package of the SDK because it gives clients a clock and a connection that
 * nobody else may.
 *
 * <p><b>Time stands</b> until the test moves it, by {@link #advance} or by waiting: when the thread that made the fake
 * waits in the SDK, for a lock or for an answer, time runs on to whatever is due next until the wait is over. A wait
 * that nothing can end throws IllegalStateException. Other threads wait in earnest until somebody lets happen what they
 * wait for.
 *
 * <p><b>Callbacks run</b> on the thread that causes them, before the call that causes them returns: after
 * {@code advance} every {@code onLost} has been told. A callback that blocks the client blocks the test.
 *
 * <p>Not as in a real service: {@link PalisadeClient#operations()} waits by the real clock when the server is stopped;
 * a claim at a guard of yours too. Safe for use by many threads.
 */
public final class FakePalisade implements AutoCloseable {
    /** Of a wait without a limit: hours of keep-alives, and nothing has ended it. */
    private static final int STEPS_PER_WAIT_MAX = 20_000;

    private final ManualTime time = new ManualTime();
    private final Turns turns = new Turns();
    private final FakeServer server = new FakeServer(time, turns);
    private final Thread driver = Thread.currentThread();
    private final Map<PalisadeClient, FakeLine> lines = new ConcurrentHashMap<>();
    private final List<PalisadeClient> inOrder = new ArrayList<>();
    private final PalisadeClient stranger;

    private FakePalisade() {
        server.start();
        stranger = client("stranger");
    }

    /** A service that runs, with locks that nobody has used. Close it. */
    public static FakePalisade start() {
        return new FakePalisade();
    }

    /** A client that is connected and calls itself {@code owner}. The fake closes it in the end. */
    public PalisadeClient client(String owner) {
        return client(owner, settings -> settings);
    }

    /**
     * A client with settings of its own; times among them are the fake's, and so is the executor of callbacks unless it
     * is set here.
     *
     * @param settings changes and returns the builder it is given
     */
    public PalisadeClient client(String owner, UnaryOperator<PalisadeClient.Builder> settings) {
        FakeLine line = new FakeLine();
        PalisadeClient.Builder builder = settings.apply(
                        PalisadeClient.builder().servers("fake:1").owner(owner).callbackExecutor(turns::afterwards))
                .channelFactory(address -> server.channel(line))
                .time(time.clocks(), time.new ClientWakeupTimer())
                .execution(turns, this::advanceUntilDone, () -> 0.5);
        PalisadeClient client = builder.build();
        lines.put(client, line);
        synchronized (inOrder) {
            inOrder.add(client);
        }
        return client;
    }

    /** What a guard under test verifies sequencers of this fake's leases with. */
    public SequencerVerifier verifier() {
        return server.verifier();
    }

    /** The time of the service and of its clients. */
    public Instant now() {
        return Instant.ofEpochMilli(time.wallMillis());
    }

    /**
     * Lets time pass: leases are renewed, or expire, waits end.
     *
     * @param by zero or more
     */
    public void advance(Duration by) {
        if (by.isNegative()) {
            throw new IllegalArgumentException("time goes on by " + by + "; use zero or more");
        }
        time.advance(by);
    }

    /**
     * Ends the leases of {@code lock} at the server, now, as if no keep-alive had come for a ttl: their holders are
     * told EXPIRED if connected.
     */
    public void expire(String lock) {
        server.expire(Arguments.lock(lock));
    }

    /** Somebody else takes {@code lock}, which must be free, and keeps it until the lease is closed. */
    public Lease hold(String lock) throws InterruptedException {
        return stranger.acquire(lock, Duration.ZERO);
    }

    /** Who holds {@code lock} and who waits for it. */
    public LockDescription describe(String lock) throws InterruptedException {
        requireRunning();
        return stranger.describe(lock);
    }

    /** What operators ask of the service: forced release, request of a release, history, list. */
    public Operations operations() {
        requireRunning();
        return stranger.operations();
    }

    /** Records acquires at the server from its next {@link #startServer} on. */
    void trace(AcquireTracer recorder) {
        server.trace(recorder);
    }

    /** Breaks the client's connection so that both sides notice: the server frees its locks after the grace of 1 s. */
    public void disconnect(PalisadeClient client) {
        turn(client, FakeLine.State.CUT);
    }

    /**
     * Loses everything between client and server from now on, and nobody notices but by the silence: leases run out.
     */
    public void silence(PalisadeClient client) {
        turn(client, FakeLine.State.SILENT);
    }

    /** Lets the client connect again; it does so within the next seconds. */
    public void reconnect(PalisadeClient client) {
        turn(client, FakeLine.State.UP);
    }

    /** As by {@code kill -9}: no client gets an answer until {@link #startServer}. */
    public void stopServer() {
        server.stop();
    }

    /**
     * Starts a stopped server: it knows every lease and waiter, leases last their full ttl anew, later tokens are
     * larger.
     */
    public void startServer() {
        if (!server.running()) {
            server.start();
        }
    }

    /** Closes every client and ends the service. */
    @Override
    public void close() {
        List<PalisadeClient> all;
        synchronized (inOrder) {
            all = List.copyOf(inOrder);
        }
        all.forEach(PalisadeClient::close);
        server.stop();
    }

    private void turn(PalisadeClient client, FakeLine.State state) {
        FakeLine line = lines.get(client);
        if (line == null) {
            throw new IllegalArgumentException("not a client of this fake; make it by client(name)");
        }
        turns.execute(() -> line.turn(state));
    }

    private void requireRunning() {
        if (!server.running()) {
            throw new IllegalStateException("the fake's server is stopped and cannot be asked; start it first");
        }
    }

    /** The blocking strategy of the clients: the driving thread advances time instead of blocking. */
    private boolean advanceUntilDone(CompletableFuture<?> future, Duration limit) {
        if (Thread.currentThread() != driver) {
            return false;
        }
        boolean endless = limit.compareTo(AcquireOptions.WAIT_ENDLESS) >= 0;
        long untilNanos = endless ? ManualTime.FOR_EVER : time.nanos() + limit.toNanos();
        int steps = 0;
        while (!future.isDone() && time.step(untilNanos)) {
            steps++;
            if (endless && steps == STEPS_PER_WAIT_MAX) {
                throw stuck();
            }
        }
        if (endless && !future.isDone()) {
            throw stuck();
        }
        return true;
    }

    private IllegalStateException stuck() {
        return new IllegalStateException("the thread that drives the fake waits for what only it can let happen, at "
                + now() + "; wait in another thread or with a limit");
    }
}
