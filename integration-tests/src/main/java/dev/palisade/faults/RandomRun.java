package dev.palisade.faults;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.LockDescription;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.LockUnavailableException;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.faults.Schedule.Planned;
import dev.palisade.scenario.History;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.ScenarioFailed;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * A randomized fault-injection run: runs clients under the faults of a {@link Schedule}, repairs everything, waits
 * until the locks are free, and merges the histories of all processes. The seed chooses the faults and their order, but
 * not the scheduling of threads.
 */
final class RandomRun {
    private static final int LOCKS = 6;
    private static final long TTL_MAX_MILLIS = 2_500;
    private static final long LOCK_DELAY_MAX_MILLIS = 1_000;
    private static final long OFFER_MILLIS = 2_000;
    /** Allowance for a busy machine with two cores. */
    private static final long MACHINE_MILLIS = 2_000;

    private static final long QUIET_MILLIS = 6_000;
    /** Extension of a short run until the guard has refused a stale call: without one, the run proves nothing. */
    private static final Duration UNTIL_REFUSED_MAX = Duration.ofMinutes(1);

    private static final int STARTED_AT_ONCE = 4;

    private final Installation installation;
    private final PrintStream out;
    private final Plan plan;
    private final Locks locks = new Locks(LOCKS);
    private final StopLatch healing = new StopLatch();
    private final Queue<RuntimeException> failures = new ConcurrentLinkedQueue<>();

    /**
     * The parameters of a run.
     *
     * @param kinds of faults
     * @param redis store of the locks; empty: a data directory
     */
    record Plan(
            long seed,
            int clients,
            Duration lasting,
            boolean guard,
            List<Schedule.Kind> kinds,
            Optional<LockRedis> redis) {
        LockBackend backend() {
            return redis.map(LockRedis::backend).orElse(LockBackend.DATA_DIR);
        }
    }

    RandomRun(Installation installation, PrintStream out, Plan plan) {
        this.installation = installation;
        this.out = out;
        this.plan = plan;
    }

    /** Returns the merged history's file. */
    Path run() throws IOException, SQLException {
        History history = History.silent("run", installation.histories().resolve("run.jsonl"));
        begin(history);
        Random random = new Random(plan.seed());
        ManagedChannel objects = null;
        try (Cluster cluster = new Cluster(
                        installation,
                        history,
                        locks,
                        plan.guard(),
                        random,
                        plan.redis().orElse(null));
                PalisadeClient operator = PalisadeClient.builder()
                        .servers(cluster.serverAddresses().split(","))
                        .owner("operator")
                        .callTimeout(Duration.ofSeconds(2))
                        .build()) {
            objects = Grpc.newChannelBuilder(cluster.objects().address(), InsecureChannelCredentials.create())
                    .build();
            LockHistoryPoller lockHistories = new LockHistoryPoller(operator.operations(), history, locks);
            Forger forger = new Forger(keys(), objects, history, locks, new Random(plan.seed()));
            startClients(cluster);
            StopLatch watching = new StopLatch();
            Thread watcher = thread("lock-histories", () -> lockHistories.watch(watching));
            Thread forging = thread("forger", () -> forger.work(watching));
            injectFaults(new FaultInjector(
                    cluster,
                    history,
                    locks,
                    operator.operations(),
                    lockHistories,
                    installation.home().resolve("objects"),
                    new FaultLifecycle(history, healing)));
            awaitQuiescence(cluster, operator, history);
            watching.stop();
            join(watcher);
            join(forging);
            lockHistories.poll();
            cluster.stopServices();
            StoreSnapshot.recordAll(installation.home().resolve("objects"), history);
            rethrowFailure();
        } finally {
            if (objects != null) {
                objects.shutdownNow();
            }
        }
        return Histories.merge(installation.histories(), installation.home().resolve("history.jsonl"));
    }

    /** Starts a few clients at a time, because each starts a JVM. */
    private void startClients(Cluster cluster) {
        for (int started = 0; started < plan.clients(); started += STARTED_AT_ONCE) {
            List<Thread> starting = new ArrayList<>();
            for (int i = started; i < Math.min(plan.clients(), started + STARTED_AT_ONCE); i++) {
                starting.add(thread("start", cluster::startClient));
            }
            starting.forEach(RandomRun::join);
            rethrowFailure();
        }
        Optional<ForeignClient> foreign = ForeignClient.prepare(installation);
        if (foreign.isEmpty()) {
            out.println("palisade chaos run: left out the client in Python; it needs " + ForeignClient.PACKAGES);
        } else {
            cluster.startClient(foreign);
        }
    }

    private void begin(History history) {
        JsonObject event = history.event("run");
        event.addProperty("seed", plan.seed());
        event.addProperty("clients", plan.clients());
        event.addProperty("seconds", plan.lasting().toSeconds());
        event.addProperty("guard", plan.guard() ? "on" : "off");
        event.addProperty("locks_in", plan.backend().name());
        event.addProperty("epoch_millis", System.currentTimeMillis());
        history.write(event);
    }

    private SequencerKeys keys() throws IOException {
        try {
            return SequencerKeys.ofJson(Files.readString(installation.home().resolve("keys/sequencers.json")));
        } catch (GeneralSecurityException e) {
            throw new IOException(e);
        }
    }

    /**
     * Injects faults until the time is over, every kind has occurred and a stale call was refused; then ends all
     * faults.
     */
    private void injectFaults(FaultInjector injector) throws IOException {
        Schedule schedule = new Schedule(plan.seed(), plan.kinds());
        long end = System.nanoTime() + plan.lasting().toNanos();
        List<Thread> running = new ArrayList<>();
        StopLatch never = new StopLatch();
        Planned next = schedule.next();
        long firstRoundEnded = System.nanoTime();
        while (System.nanoTime() < end
                || next.number() <= schedule.firstRound()
                || (plan.guard()
                        && System.nanoTime() - firstRoundEnded < UNTIL_REFUSED_MAX.toNanos()
                        && !Histories.containRefusal(installation.histories()))) {
            if (next.number() <= schedule.firstRound()) {
                firstRoundEnded = System.nanoTime();
            }
            never.await(next.afterMillis());
            Planned fault = next;
            running.removeIf(thread -> !thread.isAlive());
            running.add(thread("fault " + fault.number(), () -> injector.inject(fault)));
            rethrowFailure();
            next = schedule.next();
            if (fault.number() % 50 == 0) {
                out.println("palisade chaos run: " + fault.number() + " faults, "
                        + Math.max(0, (end - System.nanoTime()) / 1_000_000_000) + " s to go");
            }
        }
        healing.stop();
        running.forEach(RandomRun::join);
    }

    /** After the last fault: waiters must be granted within the bound, and ended clients must leave no lock in use. */
    private void awaitQuiescence(Cluster cluster, PalisadeClient operator, History history) {
        long killedClients = plan.clients()
                * (long) Cluster.LOGICAL_CLIENTS
                / 8; // Upper bound of the clients killed within the last seconds.
        long recovering = plan.redis().isPresent() ? LockRedis.FAILOVER_GRACE_MILLIS : 0;
        long bound = recovering
                + TTL_MAX_MILLIS
                + LOCK_DELAY_MAX_MILLIS
                + TTL_MAX_MILLIS
                + killedClients * OFFER_MILLIS
                + MACHINE_MILLIS;
        JsonObject quiet = history.event("quiet");
        quiet.addProperty("bound_millis", bound);
        history.write(quiet);
        out.println("palisade chaos run: all faults have ended; every waiter must be granted now");
        StopLatch never = new StopLatch();
        probe(operator, history, "live", bound);
        never.await(QUIET_MILLIS);
        cluster.stopClients().ifPresent(message -> failures.add(new ScenarioFailed(message)));
        long stopped = System.nanoTime();
        probe(operator, history, "last", bound);
        boolean left = true;
        while (left && System.nanoTime() - stopped < bound * 1_000_000) {
            left = recordLocksInUse(operator, history, stopped);
            never.await(200);
        }
    }

    /** Acquires every lock concurrently, with a timeout beyond the bound. */
    private void probe(PalisadeClient operator, History history, String name, long boundMillis) {
        List<Thread> probes = new ArrayList<>();
        for (String lock : locks.names()) {
            String op = "probe-" + name + "-" + lock;
            probes.add(thread("probe " + lock, () -> {
                try {
                    probe(operator, history, op, lock, boundMillis);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }));
        }
        probes.forEach(RandomRun::join);
    }

    private static void probe(PalisadeClient operator, History history, String op, String lock, long boundMillis)
            throws InterruptedException {
        JsonObject event = history.event("granted");
        event.addProperty("asked", System.nanoTime());
        event.addProperty("lock", lock);
        event.addProperty("op", op);
        event.addProperty("mode", "EXCLUSIVE");
        AcquireResult result = operator.tryAcquire(
                lock,
                AcquireOptions.waiting(Duration.ofMillis(boundMillis * 3)).ttl(Duration.ofMillis(TTL_MAX_MILLIS)));
        if (result instanceof AcquireResult.Granted granted) {
            long until = LeaseMonitor.untilNanos(granted.lease());
            event.addProperty("at", System.nanoTime());
            event.addProperty("token", granted.lease().token().value());
            event.addProperty("grant", granted.lease().grant().toString());
            event.addProperty("until", until);
            history.write(event);
            JsonObject releasing = history.event("releasing");
            releasing.addProperty("lock", lock);
            releasing.addProperty("token", granted.lease().token().value());
            releasing.addProperty("grant", granted.lease().grant().toString());
            history.write(releasing);
            granted.lease().close();
        } else {
            event.addProperty("event", "not-granted");
            event.addProperty("reason", result.toString());
            event.addProperty("at", System.nanoTime());
            history.write(event);
        }
    }

    private static boolean recordLocksInUse(PalisadeClient operator, History history, long stoppedNanos) {
        JsonObject event = history.event("listed");
        JsonArray inUse = new JsonArray();
        try {
            for (LockDescription lock : operator.operations().list("").toList()) {
                inUse.add(lock.lock() + ": holders " + lock.holders() + ", waiters " + lock.waiters() + ", closed for "
                        + lock.lockDelayRemaining().toMillis() + " ms");
            }
        } catch (LockUnavailableException e) {
            return true;
        }
        event.addProperty("after", System.nanoTime() - stoppedNanos);
        event.add("locks", inUse);
        history.write(event);
        return !inUse.isEmpty();
    }

    private Thread thread(String name, Runnable work) {
        Thread thread = new Thread(
                () -> {
                    try {
                        work.run();
                    } catch (RuntimeException e) {
                        failures.add(e);
                    }
                },
                name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private void rethrowFailure() {
        RuntimeException failure = failures.peek();
        if (failure != null) {
            throw failure;
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ScenarioFailed("interrupted");
        }
    }
}
