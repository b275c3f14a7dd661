package dev.palisade.sessions;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.LockDescription;
import dev.palisade.client.Operations;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.LockUnavailableException;
import dev.palisade.contract.LostReason;
import dev.palisade.faults.Link;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.assertj.core.api.Assertions;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;

/** A lock server in a process of its own, ways to it that can fail, clients of this process and of others. */
final class Scene implements AutoCloseable {
    private static final AtomicInteger ACQUIRES = new AtomicInteger();

    static final Duration PATIENCE = Duration.ofMinutes(2);
    /** What a busy machine may add to any time that is measured here. */
    static final Duration SLACK = Duration.ofMillis(1_500);

    private final Installation installation = installation();
    private final Deque<AutoCloseable> opened = new ConcurrentLinkedDeque<>();
    private final PalisadeClient onlooker;
    private Installation.Service server;

    Scene(String... options) {
        this(Map.of(), options);
    }

    /** @param environment of the server's process */
    Scene(Map<String, String> environment, String... options) {
        server = installation.server(environment, options);
        onlooker = PalisadeClient.builder().servers(address()).owner("onlooker").build();
        // So that what is timed is not the first start of anything.
        eventually().until(() -> onlooker.describe("warm").holders().isEmpty());
    }

    /** With {@code -Dpalisade.scene.store=URI} all scenes play with their locks in that Redis, each under a prefix of its own. */
    private static Installation installation() {
        String store = System.getProperty("palisade.scene.store");
        Installation fresh = Installation.fresh();
        return store == null
                ? fresh
                : fresh.onStore(store, "scene-" + fresh.home().getFileName());
    }

    String address() {
        return server.address();
    }

    /** One more lock server; of use where they share a store. */
    Installation.Service anotherServer(Map<String, String> environment, String... options) {
        Installation.Service another = installation.server(environment, options);
        opened.push(another.child()::kill);
        return another;
    }

    Child server() {
        return server.child();
    }

    /** kill -9 and a new process on the same port and data. */
    void restartServer(Map<String, String> environment) {
        server.child().kill();
        server = installation.server(environment, "--port", server.port());
    }

    Link link() {
        return opened(new Link(address(), Link.Deaths.HIDDEN));
    }

    Relay relay() {
        return opened(new Relay(address()));
    }

    /** A client of this process. */
    PalisadeClient client(String name, String address, UnaryOperator<PalisadeClient.Builder> settings) {
        return opened(settings.apply(
                        PalisadeClient.builder().servers(address.split(",")).owner(name))
                .build());
    }

    PalisadeClient client(String name, String address) {
        return client(name, address, builder -> builder);
    }

    /** A client of another process: {@link Tenant}. */
    Child tenant(String name, String address, Map<String, String> environment) {
        List<String> command = Child.java(
                "-Dlogback.configurationFile=logback-demo.xml",
                "-cp",
                Installation.classPath(),
                Tenant.class.getName(),
                name,
                address);
        Child child = opened(Child.start(name, command, environment));
        child.await("ready"::equals);
        return child;
    }

    /** An object storage whose marks are its own. */
    Installation.Service objects() {
        Installation.Service objects = installation.objects();
        opened.push(objects.child());
        return objects;
    }

    /** A client of another process that reads and writes. */
    Child actor(String name, String address, Installation.Service objects) {
        return opened(installation.actor(name, new Installation.Service(server.child(), address), objects));
    }

    private <T extends AutoCloseable> T opened(T closeable) {
        opened.push(closeable);
        return closeable;
    }

    LockDescription describe(String lock) throws InterruptedException {
        return onlooker.describe(lock);
    }

    /** The names of those who wait, in their order, whoever is offered the lock first. */
    List<String> waiting(String lock) throws InterruptedException {
        return describe(lock).waiters().stream()
                .map(LockDescription.Waiter::owner)
                .toList();
    }

    Operations operations() {
        return onlooker.operations();
    }

    /** The entries of the history of {@code lock} that say {@code what}. */
    List<Operations.HistoryEntry> history(String lock, String what) throws InterruptedException {
        return operations().history(lock).stream()
                .filter(entry -> entry.what().equals(what))
                .toList();
    }

    /** Waits, also while the server is away. */
    static ConditionFactory eventually() {
        return Awaitility.await()
                .atMost(PATIENCE)
                .pollInterval(Duration.ofMillis(20))
                .ignoreException(LockUnavailableException.class);
    }

    static AcquireOptions options(long ttlMillis, long waitMillis) {
        return AcquireOptions.waiting(Duration.ofMillis(waitMillis)).ttl(Duration.ofMillis(ttlMillis));
    }

    /** Takes a free lock and watches over the lease. */
    static Watched take(PalisadeClient client, String lock, long ttlMillis) {
        return await(queue(client, lock, ttlMillis));
    }

    /** In a place of its own: for a purpose that nobody shares. */
    static CompletableFuture<AcquireResult> queue(PalisadeClient client, String lock, long ttlMillis) {
        return client.acquireAsync(lock, options(ttlMillis, 60_000).purpose("acquire " + ACQUIRES.incrementAndGet()));
    }

    /** What the wait came to, watched; waits for it. */
    static Watched await(CompletableFuture<AcquireResult> wait) {
        return Watched.of(
                leaseOf(wait.orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS).join()));
    }

    static Lease leaseOf(AcquireResult result) {
        Assertions.assertThat(result).isInstanceOf(AcquireResult.Granted.class);
        return ((AcquireResult.Granted) result).lease();
    }

    /** A lease, when it came, and when and why it was lost. */
    record Watched(Lease lease, long gotNanos, CompletableFuture<Loss> loss) {
        record Loss(LostReason reason, long atNanos) {}

        static Watched of(Lease lease) {
            long got = System.nanoTime();
            CompletableFuture<Loss> loss = new CompletableFuture<>();
            lease.onLost(reason -> loss.complete(new Loss(reason, System.nanoTime())));
            return new Watched(lease, got, loss);
        }

        long token() {
            return lease.token().value();
        }

        Loss awaitLoss() {
            return loss.orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS).join();
        }
    }

    static Duration since(long startNanos) {
        return Duration.ofNanos(System.nanoTime() - startNanos);
    }

    @Override
    public void close() {
        List<AutoCloseable> all = new ArrayList<>(opened);
        all.add(onlooker);
        // The newest first: a client before the link it needs for its farewell.
        for (AutoCloseable next : all) {
            try {
                next.close();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
        server.child().kill();
        installation.close();
    }
}
