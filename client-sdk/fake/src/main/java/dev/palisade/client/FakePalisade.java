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
 * A fake lock service for tests: real {@link PalisadeClient}s and the real lock machine, without a network, a process,
 * a disk or a sleep. It is in the package of the SDK because only there it can give clients a clock and a connection.
 *
 * <p><b>Time stands</b> until the test advances it, by {@link #advance} or by waiting. While the thread that created
 * the fake waits in the SDK, for a lock or a reply, time advances from one due task to the next. A wait that nothing
 * can end throws IllegalStateException. Other threads block until the event that they wait for.
 *
 * <p><b>Callbacks run</b> on the thread that causes them, before the call that causes them returns: after
 * {@code advance} every {@code onLost} listener has been notified. A callback that blocks the client blocks the test.
 *
 * <p>Unlike in a real service, {@link PalisadeClient#operations()} waits by the real clock while the server is stopped,
 * and so do claims at your guards. Safe for use by many threads.
 */
public final class FakePalisade implements AutoCloseable {
    /** Most steps of a wait without a limit: hours of keep-alives that have not ended it. */
    private static final int STEPS_PER_WAIT_MAX = 20_000;

    private final ManualTime time = new ManualTime();
    private final DirectExecutor executor = new DirectExecutor();
    private final FakeServer server = new FakeServer(time, executor);
    private final Thread driver = Thread.currentThread();
    private final Map<PalisadeClient, FakeLink> links = new ConcurrentHashMap<>();
    private final List<PalisadeClient> clients = new ArrayList<>();
    private final PalisadeClient otherClient;

    private FakePalisade() {
        server.start();
        otherClient = client("stranger");
    }

    /** A running service with unused locks. Close it. */
    public static FakePalisade start() {
        return new FakePalisade();
    }

    /** A connected client with {@code owner} as its name. The fake closes it. */
    public PalisadeClient client(String owner) {
        return client(owner, settings -> settings);
    }

    /**
     * A client with the given settings. Durations among them are in the time of the fake. The fake also runs callbacks,
     * unless an executor is set.
     *
     * @param settings changes and returns the builder it is given
     */
    public PalisadeClient client(String owner, UnaryOperator<PalisadeClient.Builder> settings) {
        FakeLink link = new FakeLink();
        PalisadeClient.Builder builder = settings.apply(PalisadeClient.builder()
                        .servers("fake:1")
                        .owner(owner)
                        .callbackExecutor(executor::executeAfterwards))
                .channelFactory(address -> server.channel(link))
                .time(time.clocks(), time.new ClientWakeupTimer())
                .execution(executor, this::advanceUntilDone, () -> 0.5);
        PalisadeClient client = builder.build();
        links.put(client, link);
        synchronized (clients) {
            clients.add(client);
        }
        return client;
    }

    /** The verifier of the sequencers of this fake's leases, for a guard under test. */
    public SequencerVerifier verifier() {
        return server.verifier();
    }

    /** The time of the service and of its clients. */
    public Instant now() {
        return Instant.ofEpochMilli(time.wallMillis());
    }

    /**
     * Advances time: leases are renewed or expire, waits end.
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

    /** Takes {@code lock} for another client. It must be free; it is held until the lease is closed. */
    public Lease hold(String lock) throws InterruptedException {
        return otherClient.acquire(lock, Duration.ZERO);
    }

    /** The holders of {@code lock} and its waiters. */
    public LockDescription describe(String lock) throws InterruptedException {
        requireRunning();
        return otherClient.describe(lock);
    }

    /** The calls of operators: forced release, request of a release, history, list. */
    public Operations operations() {
        requireRunning();
        return otherClient.operations();
    }

    /** Records acquires at the server from its next {@link #startServer} on. */
    void trace(AcquireTracer recorder) {
        server.trace(recorder);
    }

    /** Breaks the client's connection so that both sides notice: the server frees its locks after the grace of 1 s. */
    public void disconnect(PalisadeClient client) {
        setLink(client, FakeLink.State.CUT);
    }

    /** Loses all messages between client and server from now on. Both detect it only by the silence: leases expire. */
    public void silence(PalisadeClient client) {
        setLink(client, FakeLink.State.SILENT);
    }

    /** Lets the client connect again; it does so within the next seconds. */
    public void reconnect(PalisadeClient client) {
        setLink(client, FakeLink.State.UP);
    }

    /** Kills the server, as {@code kill -9} does: no client gets a reply until {@link #startServer}. */
    public void stopServer() {
        server.stop();
    }

    /**
     * Starts a stopped server. It knows all leases and waiters; leases last their full ttl again; later tokens are
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
        synchronized (clients) {
            all = List.copyOf(clients);
        }
        all.forEach(PalisadeClient::close);
        server.stop();
    }

    private void setLink(PalisadeClient client, FakeLink.State state) {
        FakeLink link = links.get(client);
        if (link == null) {
            throw new IllegalArgumentException("not a client of this fake; make it by client(name)");
        }
        executor.execute(() -> link.setState(state));
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
