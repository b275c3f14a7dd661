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
 * Runs clients under the faults of a {@link Schedule}, several at once, then lets everything heal, watches the locks come free, and leaves the
 * history of all processes as one file. Which faults come in which order is the seed's choice; the scheduler's is not.
 */
final class RandomRun {
    private static final int LOCKS = 6;
    private static final long TTL_MAX_MILLIS = 2_500;
    private static final long LOCK_DELAY_MAX_MILLIS = 1_000;
    private static final long OFFER_MILLIS = 2_000;
    /** What a busy machine with two cores may take for all of it. */
    private static final long MACHINE_MILLIS = 2_000;

    private static final long QUIET_MILLIS = 6_000;
    /** How much longer a short run may go on until the guard has refused a stale call: without one it proves nothing. */
    private static final Duration UNTIL_REFUSED_MAX = Duration.ofMinutes(1);

    private static final int STARTED_AT_ONCE = 4;

    private final Installation installation;
    private final PrintStream out;
    private final Plan plan;
    private final Locks locks = new Locks(LOCKS);
    private final Stopping healing = new Stopping();
    private final Queue<RuntimeException> failures = new ConcurrentLinkedQueue<>();

    /**
     * What is to be run.
     *
     * @param kinds what can happen at all
     * @param redis where the locks are; empty: in a data directory
     */
    record Plan(
            long seed,
            int clients,
            Duration lasting,
            boolean guard,
            List<Schedule.Kind> kinds,
            Optional<LockRedis> redis) {
        Where where() {
            return redis.map(LockRedis::where).orElse(Where.DATA_DIR);
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
        try (Cast cast = new Cast(
                        installation,
                        history,
                        locks,
                        plan.guard(),
                        random,
                        plan.redis().orElse(null));
                PalisadeClient operator = PalisadeClient.builder()
                        .servers(cast.serverAddresses().split(","))
                        .owner("operator")
                        .callTimeout(Duration.ofSeconds(2))
                        .build()) {
            objects = Grpc.newChannelBuilder(cast.objects().address(), InsecureChannelCredentials.create())
                    .build();
            LockHistories lockHistories = new LockHistories(operator.operations(), history, locks);
            Forger forger = new Forger(keys(), objects, history, locks, new Random(plan.seed()));
            startClients(cast);
            Stopping watching = new Stopping();
            Thread watcher = thread("lock-histories", () -> lockHistories.watch(watching));
            Thread forging = thread("forger", () -> forger.work(watching));
            faults(new Harm(
                    cast,
                    history,
                    locks,
                    operator.operations(),
                    lockHistories,
                    installation.home().resolve("objects"),
                    new Course(history, healing)));
            settle(cast, operator, history);
            watching.stop();
            join(watcher);
            join(forging);
            lockHistories.poll();
            cast.stopServices();
            Kept.everything(installation.home().resolve("objects"), history);
            refuseFailure();
        } finally {
            if (objects != null) {
                objects.shutdownNow();
            }
        }
        return Histories.merge(installation.histories(), installation.home().resolve("history.jsonl"));
    }

    /** A few at a time: each is a JVM that starts. */
    private void startClients(Cast cast) {
        for (int started = 0; started < plan.clients(); started += STARTED_AT_ONCE) {
            List<Thread> starting = new ArrayList<>();
            for (int i = started; i < Math.min(plan.clients(), started + STARTED_AT_ONCE); i++) {
                starting.add(thread("start", cast::join));
            }
            starting.forEach(RandomRun::join);
            refuseFailure();
        }
        Optional<ForeignClient> foreign = ForeignClient.prepare(installation);
        if (foreign.isEmpty()) {
            out.println("palisade chaos run: left out the client in Python; it needs " + ForeignClient.PACKAGES);
        } else {
            cast.join(foreign);
        }
    }

    private void begin(History history) {
        JsonObject event = history.event("run");
        event.addProperty("seed", plan.seed());
        event.addProperty("clients", plan.clients());
        event.addProperty("seconds", plan.lasting().toSeconds());
        event.addProperty("guard", plan.guard() ? "on" : "off");
        event.addProperty("locks_in", plan.where().name());
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

    /** Until the time is over, every kind has had its turn and a stale call was refused; then all are healed at once. */
    private void faults(Harm harm) throws IOException {
        Schedule schedule = new Schedule(plan.seed(), plan.kinds());
        long end = System.nanoTime() + plan.lasting().toNanos();
        List<Thread> going = new ArrayList<>();
        Stopping never = new Stopping();
        Planned next = schedule.next();
        long firstRoundEnded = System.nanoTime();
        while (System.nanoTime() < end
                || next.number() <= schedule.firstRound()
                || (plan.guard()
                        && System.nanoTime() - firstRoundEnded < UNTIL_REFUSED_MAX.toNanos()
                        && !Histories.tellOfRefusal(installation.histories()))) {
            if (next.number() <= schedule.firstRound()) {
                firstRoundEnded = System.nanoTime();
            }
            never.within(next.afterMillis());
            Planned fault = next;
            going.removeIf(thread -> !thread.isAlive());
            going.add(thread("fault " + fault.number(), () -> harm.happen(fault)));
            refuseFailure();
            next = schedule.next();
            if (fault.number() % 50 == 0) {
                out.println("palisade chaos run: " + fault.number() + " faults, "
                        + Math.max(0, (end - System.nanoTime()) / 1_000_000_000) + " s to go");
            }
        }
        healing.stop();
        going.forEach(RandomRun::join);
    }

    /** Everything is well again: nobody may wait for long, and when all have ended nothing may be left. */
    private void settle(Cast cast, PalisadeClient operator, History history) {
        long dead = plan.clients()
                * (long) Cast.LOGICAL_CLIENTS
                / 8; // At most that many can have died within the last seconds.
        long recovering = plan.redis().isPresent() ? LockRedis.FAILOVER_GRACE_MILLIS : 0;
        long bound = recovering
                + TTL_MAX_MILLIS
                + LOCK_DELAY_MAX_MILLIS
                + TTL_MAX_MILLIS
                + dead * OFFER_MILLIS
                + MACHINE_MILLIS;
        JsonObject quiet = history.event("quiet");
        quiet.addProperty("bound_millis", bound);
        history.write(quiet);
        out.println("palisade chaos run: all faults have ended; every waiter must be granted now");
        Stopping never = new Stopping();
        probe(operator, history, "live", bound);
        never.within(QUIET_MILLIS);
        cast.dismiss().ifPresent(message -> failures.add(new ScenarioFailed(message)));
        long stopped = System.nanoTime();
        probe(operator, history, "last", bound);
        boolean left = true;
        while (left && System.nanoTime() - stopped < bound * 1_000_000) {
            left = look(operator, history, stopped);
            never.within(200);
        }
    }

    /** Waits for every lock as anybody would, at once, with a patience beyond the bound. */
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
            long until = LeaseWatch.untilNanos(granted.lease());
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

    private static boolean look(PalisadeClient operator, History history, long stoppedNanos) {
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

    private void refuseFailure() {
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
