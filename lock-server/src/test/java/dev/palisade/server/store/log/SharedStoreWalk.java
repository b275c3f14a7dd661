package dev.palisade.server.store.log;

import static dev.palisade.server.store.log.Asking.acquire;
import static dev.palisade.server.store.log.Asking.name;
import static dev.palisade.server.store.log.Asking.release;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.Reason;
import dev.palisade.server.core.Accept;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.Reclaim;
import dev.palisade.server.core.Renew;
import dev.palisade.server.ownership.LogState;
import dev.palisade.server.store.log.MemoryLogServer.Fault;
import dev.palisade.server.store.log.MemoryLogServer.Image;
import dev.palisade.server.store.log.SharedServers.Server;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A random walk of three lock servers over one log, and of clients that hold, renew and release, while requests to the log are lost,
 * late and repeated, servers stop and die, and the log loses data. Each answer is judged by what clients know. Everything follows from the
 * seed.
 */
final class SharedStoreWalk {
    /** What may happen beside pauses, lost requests, a full log, and servers that stop or die. */
    enum Profile {
        /** Nothing is lost. */
        FAULTS(false, false),
        /** Nothing is lost; the log's clock is set forward and back. */
        CLOCKS(false, false),
        /** The log loses data, and servers wait for holders. */
        LOSSES(true, false),
        /** The log loses data, and the active server writes its memory back. */
        MEMORIES(true, true);

        final boolean loses;
        final boolean resumes;

        Profile(boolean loses, boolean resumes) {
            this.loses = loses;
            this.resumes = resumes;
        }
    }

    private static final Duration TRY = Duration.ZERO;
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final long TTL_NANOS = 10_000_000_000L;
    private static final List<String> LOCKS = List.of("l0", "l1", "l2");
    private static final List<Fault> FAULTS = List.of(Fault.values());
    private static final int SESSIONS = 4;
    private static final List<String> ADDRESSES = List.of("a:1", "b:1", "c:1");
    private static final int TRACE = Integer.getInteger("palisade.walk.trace", 60);

    private final Profile profile;
    private final SplittableRandom random;
    private final Map<String, Integer> reached;
    private final SharedServers servers;
    private final Server[] running = new Server[ADDRESSES.size()];
    private final boolean[] wasActive = new boolean[ADDRESSES.size()];
    private final int[] loads = new int[ADDRESSES.size()];
    private final boolean[] paused = new boolean[ADDRESSES.size()];
    private final List<Image> images = new ArrayList<>();
    private final Map<String, Held> held = new HashMap<>();
    private final Map<GrantId, Wait> waits = new HashMap<>();
    private final List<Asked> asked = new ArrayList<>();
    private final Set<Long> tokens = new HashSet<>();
    private final Deque<String> trace = new ArrayDeque<>();
    private final long[] requests = new long[SESSIONS];
    private long newest;
    private int unique;

    /** A lease as its client sees it. */
    private static final class Held {
        final String lock;
        final Grant grant;
        long untilNanos;

        Held(String lock, Grant grant, long untilNanos) {
            this.lock = lock;
            this.grant = grant;
            this.untilNanos = untilNanos;
        }
    }

    /** @param floor the largest token that was answered before the request was sent */
    private record Wait(String lock, int session, long floor) {}

    private record Asked(Server server, CompletableFuture<Answer> answer, Consumer<Answer> then) {}

    /** @param reached counts what happened */
    SharedStoreWalk(Profile profile, long seed, Map<String, Integer> reached) {
        this.profile = profile;
        this.random = new SplittableRandom(seed);
        this.reached = reached;
        this.servers = new SharedServers(profile.resumes);
        for (int i = 0; i < running.length; i++) {
            running[i] = i == 0 ? servers.server(ADDRESSES.get(i)) : servers.serverWithoutInit(ADDRESSES.get(i));
        }
        turn(0); // It alone takes an empty log for a new one, and knows from now on that it is not.
        images.add(servers.log.image());
    }

    void run(int steps) {
        try {
            for (int i = 0; i < steps; i++) {
                step();
                hearAnswers();
            }
            settle();
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError(e + "\n" + String.join("\n", trace), e);
        }
    }

    private void note(String what) {
        trace.add(servers.nanos.get() / 1_000_000 + " " + what);
        if (trace.size() > TRACE) {
            trace.remove();
        }
    }

    private void reach(String what) {
        reached.merge(what, 1, Integer::sum);
        note(what);
    }

    private boolean oneOf(int times) {
        return random.nextInt(times) == 0;
    }

    private int anyServer() {
        return random.nextInt(running.length);
    }

    // ---- what happens

    private void step() {
        int dice = random.nextInt(100);
        if (dice < 25) {
            servers.pass(random.nextInt(10, 500));
        } else if (dice < 45) {
            turn(anyServer());
        } else if (dice < 90) {
            client();
        } else {
            harm();
        }
        for (int i = 0; i < running.length; i++) {
            if (!paused[i] && running[i].isActive() && !oneOf(3)) {
                turn(i);
            }
        }
    }

    private void turn(int i) {
        Server server = running[i];
        if (paused[i]) {
            return;
        }
        if (oneOf(3)) {
            replies(server);
        }
        long first = servers.log.span().first();
        server.store.takeTurn();
        if (servers.log.span().first() > first) {
            reach("batches dropped");
        }
        if (server.isActive() && !wasActive[i]) {
            note(ADDRESSES.get(i) + " is active");
            require(profile.loses || !server.store.isRecovering(), "a recovery window, though nothing was lost");
            if (server.deposed.isEmpty()) {
                reach(server.client.loads() > loads[i] ? "read all" : "read the rest");
            }
            compare(server);
            if (oneOf(2)) {
                server.client.holdReplies();
            }
        }
        wasActive[i] = server.isActive();
        loads[i] = server.client.loads();
    }

    private static void replies(Server server) {
        while (server.client.sending() > 0) {
            server.client.reply();
        }
    }

    private void harm() {
        int i = anyServer();
        Server server = running[i];
        switch (random.nextInt(profile.loses ? 15 : 12)) {
            case 0, 1 -> {
                Fault fault = FAULTS.get(random.nextInt(FAULTS.size()));
                reach(fault.toString());
                servers.log.next(fault);
            }
            case 2 -> {
                boolean cut = oneOf(3);
                note(ADDRESSES.get(i) + (cut ? " is cut off" : " reaches the log"));
                server.client.cut(cut);
            }
            case 3 -> {
                paused[i] = oneOf(3);
                note(ADDRESSES.get(i) + (paused[i] ? " is paused" : " continues"));
            }
            case 4 -> {
                Arrays.fill(paused, true);
                paused[i] = false;
                reach("alone");
            }
            case 5 -> {
                Arrays.fill(paused, false);
                note("all continue");
            }
            case 6 -> {
                boolean full = oneOf(4);
                note(full ? "the log is full" : "the log has space");
                servers.log.full(full);
            }
            case 7 -> servers.log.deliverDelayed();
            case 8 -> starts(i, false);
            case 9 -> starts(i, true);
            case 10 -> othersComeAndGo();
            case 11 -> clock();
            default -> lose();
        }
        if (oneOf(4)) {
            images.add(servers.log.image());
        }
    }

    private void starts(int i, boolean stops) {
        if (!oneOf(3)) {
            return;
        }
        Server before = running[i];
        note(ADDRESSES.get(i) + (stops ? " is stopped" : " is killed") + (before.isActive() ? ", active" : ""));
        if (stops && !paused[i]) {
            before.client.holdNoReplies();
            before.store.close();
        }
        hearAnswers();
        asked.removeIf(one -> one.server() == before);
        running[i] = servers.serverWithoutInit(ADDRESSES.get(i));
        wasActive[i] = false;
        loads[i] = 0;
        paused[i] = false;
    }

    private void clock() {
        if (profile == Profile.CLOCKS) {
            long step = oneOf(2) ? 3_600_000 : -3_600_000;
            reach(step > 0 ? "clock forward" : "clock back");
            servers.logMillis.addAndGet(step);
        }
    }

    private void lose() {
        if (!oneOf(2)) {
            return;
        }
        Image image = images.get(Math.max(0, images.size() - 1 - random.nextInt(3)));
        switch (random.nextInt(6)) {
            case 0 -> {
                reach("flushed");
                servers.log.flush();
            }
            case 1 -> {
                reach("promoted");
                servers.log.promote(image);
            }
            case 2 -> {
                if (sawItsData()) {
                    reach("restored");
                    servers.log.restore(image);
                }
            }
            case 3 -> {
                reach("restarted");
                servers.log.restart();
            }
            case 4 -> {
                if (sawItsData()) {
                    reach("library reloaded");
                    servers.log.reloadLibrary();
                }
            }
            default -> {
                reach("batches deleted");
                Image now = servers.log.image();
                now.counting().keySet().removeIf(number -> oneOf(3));
                servers.log.restore(now);
            }
        }
    }

    /** A log whose process forgot what it saw, and whose data went back meanwhile, looks whole to everybody. */
    private boolean sawItsData() {
        LogState now = servers.log.state();
        return now.seen() != null && now.seen().position().equals(now.position());
    }

    /** So many that the log drops batches. */
    private void othersComeAndGo() {
        if (!oneOf(2)) {
            return;
        }
        for (int i = 0; i < 80; i++) {
            for (int each = 0; each < running.length; each++) {
                if (running[each].isActive() && !paused[each]) {
                    Server server = running[each];
                    String lock = "other" + unique++;
                    ask(server, acquire(lock, 100, unique, TRY), answer -> {
                        if (answer instanceof Answer.Granted granted) {
                            ask(server, release(name(lock), granted.grant()), released -> {});
                        }
                    });
                    turn(each);
                    replies(server);
                }
            }
            hearAnswers();
        }
        for (int i = 0; i < 340; i++) { // Until they are forgotten.
            servers.pass(400);
            for (int each = 0; each < running.length; each++) {
                replies(running[each]);
                turn(each);
            }
            hearAnswers();
        }
    }

    // ---- clients

    private void client() {
        int session = random.nextInt(SESSIONS);
        String lock = LOCKS.get(random.nextInt(LOCKS.size()));
        Server server = activeOrAny();
        Held mine = held.get(session + lock);
        if (mine == null || mine.untilNanos <= servers.nanos.get()) {
            held.remove(session + lock);
            asks(server, session, lock, oneOf(3) ? MINUTE : TRY);
        } else if (oneOf(4)) {
            note(session + " releases " + lock);
            held.remove(session + lock);
            ask(server, release(name(lock), mine.grant), answer -> {});
        } else {
            renews(server, session, mine);
        }
        for (Server each : running) {
            while (!each.promised.isEmpty()) {
                accepts(each, each.promised.remove());
            }
        }
    }

    private Server activeOrAny() {
        if (!oneOf(10)) {
            for (Server each : running) {
                if (each.isActive()) {
                    return each;
                }
            }
        }
        return running[anyServer()];
    }

    private void ask(Server server, Command command, Consumer<Answer> then) {
        asked.add(new Asked(server, server.send(command), then));
    }

    private void hearAnswers() {
        for (Asked one : List.copyOf(asked)) {
            if (one.answer().isDone()) {
                asked.remove(one);
                if (one.answer().isCompletedExceptionally()) {
                    reached.merge("failed", 1, Integer::sum);
                } else {
                    one.then().accept(one.answer().join());
                }
            }
        }
    }

    private void asks(Server server, int session, String lock, Duration wait) {
        long number = ++requests[session];
        long sent = servers.nanos.get();
        long floor = newest;
        note(session + " asks for " + lock);
        ask(server, acquire(lock, session, number, wait), answer -> {
            if (answer instanceof Answer.Granted granted) {
                granted(lock, session, granted.grant(), floor, sent);
            } else if (answer instanceof Answer.Queued) {
                reached.merge("queued", 1, Integer::sum);
                waits.put(new GrantId(session, number), new Wait(lock, session, floor));
            } else if (answer instanceof Answer.Refused refused
                    && refused.rejection().reason() == Reason.RECOVERING) {
                reached.merge("recovering", 1, Integer::sum);
            }
        });
    }

    private void accepts(Server server, SharedServers.Promised promised) {
        Wait wait = waits.get(promised.grant().id());
        if (wait == null || oneOf(5)) {
            return;
        }
        long sent = servers.nanos.get();
        Grant offered = promised.grant();
        ask(
                server,
                new Accept(
                        promised.lock(),
                        offered.id(),
                        offered.token(),
                        offered.request().id().session(),
                        0),
                answer -> {
                    if (answer instanceof Answer.Granted granted && waits.remove(offered.id()) != null) {
                        reached.merge("accepted", 1, Integer::sum);
                        granted(wait.lock(), wait.session(), granted.grant(), wait.floor(), sent);
                    }
                });
    }

    private void granted(String lock, int session, Grant grant, long floor, long sent) {
        long token = grant.token().value();
        note(session + " is granted " + lock + " with " + token);
        reached.merge("granted", 1, Integer::sum);
        require(tokens.add(token), "token " + token + " was granted twice");
        require(token > floor, "token " + token + " is below " + floor + ", which was answered before");
        newest = Math.max(newest, token);
        long until = sent + TTL_NANOS;
        if (until <= servers.nanos.get()) {
            return;
        }
        for (int other = 0; other < SESSIONS; other++) {
            Held theirs = held.get(other + lock);
            if (other != session && theirs != null && theirs.untilNanos > servers.nanos.get() && !profile.resumes) {
                throw new AssertionError(lock + " has two holders: " + other + " and " + session);
            }
        }
        held.put(session + lock, new Held(lock, grant, until));
    }

    private void renews(Server server, int session, Held mine) {
        long sent = servers.nanos.get();
        Grant grant = mine.grant;
        Command renew = new Renew(
                name(mine.lock), grant.id(), grant.token(), grant.request().id().session());
        note(session + " renews " + mine.lock);
        ask(server, renew, answer -> {
            if (answer instanceof Answer.Renewed) {
                mine.untilNanos = Math.max(mine.untilNanos, sent + TTL_NANOS);
            } else if (answer instanceof Answer.Refused refused) {
                refused(server, session, mine, refused.rejection().reason());
            }
        });
    }

    private void refused(Server server, int session, Held mine, Reason reason) {
        if (reason == Reason.STORE_UNAVAILABLE) {
            return; // Nothing is said of the lease.
        }
        if (reason != Reason.NOT_HOLDER) {
            lost(session, mine, reason);
            return;
        }
        long sent = servers.nanos.get();
        ask(server, new Reclaim(name(mine.lock), mine.grant.request(), mine.grant.token()), answer -> {
            if (answer instanceof Answer.Resumed) {
                reach("reclaimed");
                mine.untilNanos = Math.max(mine.untilNanos, sent + TTL_NANOS);
            } else if (answer instanceof Answer.Refused refused
                    && refused.rejection().reason() != Reason.STORE_UNAVAILABLE) {
                lost(session, mine, refused.rejection().reason());
            }
        });
    }

    private void lost(int session, Held mine, Reason reason) {
        note(session + " has lost " + mine.lock + ": " + reason);
        boolean isKnown = held.get(session + mine.lock) == mine;
        require(
                !isKnown || mine.untilNanos <= servers.nanos.get() || profile.resumes,
                "the lease of " + mine.lock + " was lost before its end");
        held.remove(session + mine.lock, mine);
    }

    // ---- judgement

    private static void require(boolean right, String wrong) {
        if (!right) {
            throw new AssertionError(wrong);
        }
    }

    /** What the server has in memory after a takeover is what another one finds that reads all of the log. */
    private void compare(Server server) {
        Set<String> inMemory = holders(server);
        if (inMemory == null) {
            return;
        }
        Image image = servers.log.image();
        SharedServers others = new SharedServers();
        others.logMillis.set(servers.logMillis.get());
        others.log.restore(image);
        Server reader = others.serverWithoutInit("reader:1");
        reader.live(6_000);
        require(reader.isActive(), "the log cannot be taken over");
        reach("compared");
        Set<String> inLog = holders(reader);
        require(inMemory.equals(inLog), "memory has " + inMemory + ", the log " + inLog);
    }

    /** Lock and token of each lease; null without a reply. */
    private static @Nullable Set<String> holders(Server server) {
        Set<String> holders = new TreeSet<>();
        for (String lock : LOCKS) {
            if (!(described(server, lock) instanceof Answer.Described described)) {
                return null;
            }
            described.state().holders().forEach(grant -> holders.add(lock + " " + grant.token()));
        }
        return holders;
    }

    private static @Nullable Answer described(Server server, String lock) {
        CompletableFuture<Answer> answer = server.ask(new Describe(name(lock)));
        return answer.isCompletedExceptionally() ? null : answer.getNow(null);
    }

    /** Once nothing fails any more, one server is active and grants. */
    private void settle() {
        note("settling");
        servers.log.full(false);
        servers.log.deliverDelayed();
        for (int i = 0; i < running.length; i++) {
            running[i].client.cut(false);
            running[i].client.holdNoReplies();
            paused[i] = false;
        }
        for (int passed = 0; passed < 30_000; passed += 100) {
            servers.pass(100);
            for (int i = 0; i < running.length; i++) {
                replies(running[i]);
                turn(i);
                running[i].client.holdNoReplies();
            }
            hearAnswers();
        }
        List<Server> active = new ArrayList<>();
        for (Server each : running) {
            if (each.isActive()) {
                active.add(each);
            }
        }
        require(active.size() == 1, active.size() + " servers are active");
        Answer last = active.get(0).answer(acquire("last", 200, 1, TRY));
        require(last instanceof Answer.Granted, "the last request: " + last);
    }
}
