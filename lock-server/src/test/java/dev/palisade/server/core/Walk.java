package dev.palisade.server.core;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * A random walk over one lock by a few clients that mostly know what they hold, and sometimes are late, wrong, old or
 * somebody else. Everything follows from the seed.
 */
public final class Walk {
    private static final int SESSIONS = 4;
    private static final LockName LOCK = new LockName("walk");
    private static final long HORIZON_MILLIS = 800;

    /** What is unusual about a walk. */
    private enum Profile {
        PLAIN,
        SHORT_QUEUE,
        FEW_HOLDERS,
        LAST_TOKENS,
        CLOCK_SET_BACK,
        MANY_ENDS,
        RESTARTS,
        LAPSES,
        /** The store falls back to what it was some time ago, and holders that it forgot show what they have. */
        RECOVERS
    }

    /** What a client remembers of a grant, whatever its store does. */
    private record Had(Request asked, long token) {}

    private final Machine machine;
    private final SplittableRandom random;
    private final Profile profile;
    private final Limits limits;
    private final Coverage coverage;
    private final Judge judge;
    private final ArrayDeque<Supplier<String>> history = new ArrayDeque<>();
    private final long[] gens = new long[SESSIONS];
    private final long[] numbers = new long[SESSIONS];
    private final Map<RequestId, Long> firstSent = new HashMap<>();
    private final Map<RequestId, Request> sent = new HashMap<>();
    private final List<RequestId> order = new ArrayList<>();

    /** The newest last. */
    private final ArrayDeque<LockState> earlier = new ArrayDeque<>();

    private List<Had> forgotten = List.of();
    private LockState state = LockState.unused(LOCK, 0);
    private long recoveringUntil;
    private long lastToken;
    private long now = 1_000_000;
    /** The clients' own clock, which is never set back. */
    private long steady = 1_000_000;

    public Walk(long seed, Machine machine, Coverage coverage) {
        this.machine = machine;
        this.random = new SplittableRandom(seed);
        this.profile = Profile.values()[(int) (seed % Profile.values().length)];
        this.coverage = coverage;
        this.limits = new Limits(
                1,
                1_000,
                10_000,
                100_000,
                10_000,
                10_000,
                200,
                profile == Profile.SHORT_QUEUE ? 2 : 20,
                profile == Profile.FEW_HOLDERS ? 2 : 20,
                30_000);
        this.lastToken = profile == Profile.LAST_TOKENS
                ? FencingToken.MAX - FencingToken.PER_GRANT * (5L + random.nextInt(60)) - random.nextInt(9)
                : random.nextInt(9);
        this.judge = new Judge(state, limits, lastToken);
        for (int i = 0; i < SESSIONS; i++) {
            gens[i] = 1;
        }
    }

    public void run(int steps) {
        // Past the limit of ends takes longer, and so does falling back often.
        int all = profile == Profile.MANY_ENDS || profile == Profile.RECOVERS ? 4 * steps : steps;
        for (int i = 0; i < all; i++) {
            passTime();
            if (chance(10) && lastToken <= FencingToken.MAX - FencingToken.PER_GRANT) {
                lastToken += profile == Profile.LAST_TOKENS ? FencingToken.PER_GRANT : 1 + random.nextInt(1_000);
                judge.mintedElsewhere(lastToken);
            }
            if (profile == Profile.RESTARTS && chance(3)) {
                state = judge.restart(now);
                note(() -> "restart");
                // What a store does first: whatever the restart made due.
                step(new Expire(LOCK));
                continue;
            }
            if (profile == Profile.RECOVERS && now >= recoveringUntil && chance(4)) {
                fallBack();
                continue;
            }
            step(command());
            if (chance(1)) {
                theNextDeadlineIsNeverLate();
            }
        }
    }

    private void fallBack() {
        List<LockState> some = new ArrayList<>(earlier);
        if (some.isEmpty()) {
            return;
        }
        forgotten = judge.known().stream()
                .filter(k -> k.status == Judge.Status.HELD || (k.status == Judge.Status.ENDED && k.token > 0))
                .filter(k -> k.status == Judge.Status.HELD || k.endedAtMillis > now - 2_000)
                .map(k -> new Had(k.asked, k.token))
                .toList();
        LockState back = some.get(random.nextInt(some.size()));
        for (int i = 0; i < 9 && !holdersStillWait(back); i++) {
            back = some.get(random.nextInt(some.size())); // The most telling kind, and a rare one.
        }
        state = judge.fellBack(back, now);
        recoveringUntil = chance(85) ? now + 100 + random.nextInt(2_500) : 0;
        earlier.clear();
        note(() -> "fell back, recovering until " + recoveringUntil + ", to " + state);
        step(new Expire(LOCK));
    }

    private boolean holdersStillWait(LockState back) {
        return judge.known(Judge.Status.HELD).stream()
                .anyMatch(k -> back.waiter(k.asked.id()).isPresent());
    }

    private void step(Command command) {
        Decision decision = machine.step(state, command, now, lastToken, recoveringUntil, limits);
        note(() -> command + " -> " + decision.answer() + " " + decision.events());
        try {
            judge.judge(command, now, recoveringUntil, decision);
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError(
                    profile + ", after\n" + history.stream().map(Supplier::get).collect(Collectors.joining("\n")), e);
        }
        coverage.count(state, command, decision);
        state = decision.next();
        lastToken = decision.lastToken();
        earlier.add(state);
        if (earlier.size() > 30) {
            earlier.removeFirst();
        }
    }

    private void note(Supplier<String> line) {
        if (history.size() == 25) {
            history.removeFirst();
        }
        long at = now;
        history.add(() -> at + " " + line.get());
    }

    private void passTime() {
        long by;
        int kind = random.nextInt(100);
        if (kind < 55) {
            by = random.nextInt(60);
        } else if (kind < 85) {
            long next = nextDeadline(state, now);
            by = next == Long.MAX_VALUE ? random.nextInt(100) : Math.max(0, next - now + random.nextInt(3) - 1);
        } else if (kind < 98) {
            by = random.nextInt(1_000);
        } else if (kind < 99) {
            by = random.nextInt(40_000);
        } else {
            by = profile == Profile.MANY_ENDS ? 1 : random.nextInt(70_000);
        }
        if (profile == Profile.MANY_ENDS) {
            by = Math.min(by, 100);
        }
        if (now < recoveringUntil && chance(90)) {
            by = random.nextInt(80); // All that matters happens before it is over.
        }
        now += by;
        steady += by;
        if (profile == Profile.CLOCK_SET_BACK && chance(3)) {
            now = Math.max(0, now - random.nextInt(5_000));
        }
    }

    // ---- what the clients send ----

    private Command command() {
        if (!forgotten.isEmpty() && chance(now < recoveringUntil ? 35 : 4)) {
            return ofForgotten();
        }
        int kind = random.nextInt(100);
        if (profile == Profile.MANY_ENDS && chance(40)) {
            kind = 0;
        }
        if (profile == Profile.LAPSES && kind >= 38 && kind < 48) {
            kind = 95;
        }
        if (kind < 27) {
            return acquireNew();
        }
        if (kind < 38) {
            return order.isEmpty() ? acquireNew() : acquireAgain();
        }
        if (kind < 50) {
            return accept();
        }
        if (kind < 60) {
            Judge.Known k = any(Judge.Status.HELD);
            return k == null ? new Expire(LOCK) : new Renew(LOCK, k.asked.grant(), token(k), session(k));
        }
        if (kind < 73) {
            Judge.Known k = any(chance(85) ? Judge.Status.HELD : Judge.Status.OFFERED);
            return k == null ? new Describe(LOCK) : new Release(LOCK, k.asked.grant(), token(k), session(k));
        }
        if (kind < 81) {
            return leave();
        }
        if (kind < 86) {
            Judge.Known k = any(Judge.Status.HELD);
            return k == null
                    ? new Abandon(LOCK, new GrantId(9, 9), 5, EndCause.CONNECTION_BROKE)
                    : new Abandon(
                            LOCK,
                            k.asked.grant(),
                            k.gen + random.nextInt(3) - 1,
                            k.gen % 2 == 0 ? EndCause.CONNECTION_BROKE : EndCause.NOT_RESUMED);
        }
        if (kind < 92) {
            return resume();
        }
        if (kind < 94) {
            return new RequestRelease(LOCK, "operator " + random.nextInt(3), "why " + random.nextInt(3));
        }
        if (kind < 96) {
            return forceRelease();
        }
        if (kind < 98) {
            Judge.Known k = any(chance(70) ? Judge.Status.HELD : Judge.Status.OFFERED);
            return k == null ? new Barrier(LOCK) : new CheckSequencer(LOCK, k.asked.grant(), token(k));
        }
        return chance(50) ? new Expire(LOCK) : chance(60) ? new Barrier(LOCK) : new Describe(LOCK);
    }

    /** Of all, of one, of one that is offered or over, of nobody. */
    private Command forceRelease() {
        Judge.Known k = any(chance(80) ? Judge.Status.HELD : Judge.Status.OFFERED);
        long token = k == null || chance(40)
                ? 0
                : chance(85) ? k.token + random.nextInt(FencingToken.PER_GRANT) : lastToken + 1;
        return new ForceRelease(LOCK, token, "operator " + random.nextInt(3), "why " + random.nextInt(3));
    }

    private Command acquireNew() {
        int session = random.nextInt(SESSIONS);
        RequestId id = new RequestId(sessionId(session), ++numbers[session]);
        int ttl = 200 + random.nextInt(1_500);
        Mode mode = chance(profile == Profile.FEW_HOLDERS ? 85 : 50) ? Mode.SHARED : Mode.EXCLUSIVE;
        Request request = new Request(
                id,
                gens[session],
                new GrantId(session + 1, id.number()),
                mode,
                ttl,
                chance(25) ? 50 + random.nextInt(400) : 0,
                mode == Mode.EXCLUSIVE && chance(20) ? 50 + random.nextInt(1_200) : 0,
                "",
                "");
        boolean tries = chance(profile == Profile.MANY_ENDS ? 80 : profile == Profile.FEW_HOLDERS ? 60 : 20);
        sent.put(id, request);
        order.add(id);
        // Sometimes the first sending is lost and the second comes late.
        long age = chance(4) ? random.nextInt(40_000) : 0;
        firstSent.put(id, steady - age);
        return new Acquire(LOCK, request, tries ? 0 : 50 + random.nextInt(4_000), age, alive());
    }

    private long alive() {
        return chance(70) ? Long.MAX_VALUE : now + 50 + random.nextInt(1_500);
    }

    /** A duplicate. By another server it comes with another grant id and says how old it is. Some are not what was sent first. */
    private Command acquireAgain() {
        int recent = profile == Profile.MANY_ENDS ? order.size() : Math.min(order.size(), 60);
        RequestId id = order.get(order.size() - 1 - random.nextInt(recent));
        List<Judge.Known> waiting = judge.known(Judge.Status.WAITING);
        if (!waiting.isEmpty() && chance(40)) {
            id = waiting.get(random.nextInt(waiting.size())).asked.id();
        }
        Request first = Objects.requireNonNull(sent.get(id));
        int session = (int) id.session().low() - 1;
        long differs = steady % 40; // 1 to 4: in the mode, the ttl, the lock-delay or the minimum hold time.
        Request again = new Request(
                id,
                Math.max(1, gens[session] - (chance(20) ? 1 : 0)),
                chance(20) ? new GrantId(77, random.nextInt(1_000_000)) : first.grant(),
                differs == 1 ? Mode.SHARED : first.mode(),
                first.ttlMillis() + (differs == 2 ? 1 : 0),
                first.lockDelayMillis() + (differs == 3 ? 1 : 0),
                first.lockAtLeastForMillis() + (differs == 4 ? 1 : 0),
                "",
                "");
        return new Acquire(
                LOCK,
                again,
                chance(20) ? 0 : 50 + random.nextInt(4_000),
                steady - Objects.requireNonNull(firstSent.get(id)),
                alive());
    }

    private Command accept() {
        Judge.Known k = any(chance(85) ? Judge.Status.OFFERED : Judge.Status.WAITING);
        return k == null
                ? new Expire(LOCK)
                : new Accept(
                        LOCK,
                        k.asked.grant(),
                        new FencingToken(Math.max(1, chance(90) ? k.token : k.token - 1)),
                        session(k),
                        k.gen + random.nextInt(3) - 1);
    }

    private Command leave() {
        if (chance(25)) {
            // Overtakes its own acquire.
            int session = random.nextInt(SESSIONS);
            RequestId id = new RequestId(sessionId(session), ++numbers[session]);
            sent.put(
                    id,
                    new Request(
                            id, gens[session], new GrantId(session + 1, id.number()), Mode.SHARED, 500, 0, 0, "", ""));
            order.add(id);
            firstSent.put(id, steady);
            return new Leave(LOCK, id, Long.MAX_VALUE);
        }
        Judge.Known k = any(chance(60) ? Judge.Status.WAITING : chance(50) ? Judge.Status.OFFERED : Judge.Status.HELD);
        if (k == null) {
            return new Describe(LOCK);
        }
        return new Leave(LOCK, k.asked.id(), chance(40) ? Long.MAX_VALUE : k.gen + random.nextInt(3) - 1);
    }

    private Command resume() {
        Judge.Known k = any(Judge.Status.HELD);
        if (k == null) {
            return new Expire(LOCK);
        }
        int session = (int) k.asked.id().session().low() - 1;
        if (chance(60)) {
            gens[session]++;
        }
        long gen = chance(80) ? gens[session] : k.gen - 1;
        if (chance(25)) {
            Request shown = k.asked.withSessionGen(gen);
            return new Reclaim(LOCK, chance(94) ? shown : byAnother(shown), token(k));
        }
        return new Resume(LOCK, k.asked.grant(), token(k), session(k), gen);
    }

    private Request byAnother(Request asked) {
        return new Request(
                new RequestId(sessionId(random.nextInt(SESSIONS)), 1_000_000 + random.nextInt(1_000)),
                asked.sessionGen(),
                asked.grant(),
                asked.mode(),
                asked.ttlMillis(),
                asked.lockDelayMillis(),
                asked.lockAtLeastForMillis(),
                "",
                "");
    }

    /** Of a grant that the store lost, or had lost: its client remembers it and comes back by a newer stream, or by an old one. */
    private Command ofForgotten() {
        Had had = forgotten.get(random.nextInt(forgotten.size()));
        for (Judge.Known k : judge.known(Judge.Status.WAITING)) {
            Optional<Had> waits = forgotten.stream()
                    .filter(h -> h.asked().id().equals(k.asked.id()))
                    .findFirst();
            had = waits.isPresent() && chance(50) ? waits.get() : had;
        }
        if (chance(20)) {
            return new CheckSequencer(LOCK, had.asked().grant(), new FencingToken(had.token()));
        }
        int session = (int) had.asked().id().session().low() - 1;
        if (chance(30)) {
            gens[session]++;
        }
        long gen = chance(85) ? gens[session] : Math.max(1, gens[session] - 2);
        FencingToken token = new FencingToken(chance(90) ? had.token() : had.token() + 1);
        return new Reclaim(LOCK, had.asked().withSessionGen(gen), token);
    }

    /** Mostly one that stands so; sometimes any at all. */
    private Judge.@org.jspecify.annotations.Nullable Known any(Judge.Status status) {
        List<Judge.Known> some = chance(85) ? judge.known(status) : new ArrayList<>(judge.known());
        // Of a request that left before it came nobody knows a grant.
        some.removeIf(k -> k.token == 0 && k.status == Judge.Status.ENDED && k.asked.ttlMillis() == 0);
        if (some.isEmpty()) {
            return null;
        }
        int recent = Math.min(some.size(), 40);
        return some.get(some.size() - 1 - random.nextInt(recent));
    }

    private FencingToken token(Judge.Known k) {
        long token = chance(90) ? k.token : k.token + 1 - random.nextInt(3);
        return new FencingToken(Math.min(FencingToken.MAX, Math.max(1, token)));
    }

    private SessionId session(Judge.Known k) {
        return chance(94) ? k.asked.id().session() : sessionId(random.nextInt(SESSIONS));
    }

    private static SessionId sessionId(int session) {
        return new SessionId(0, session + 1);
    }

    private boolean chance(int percent) {
        return random.nextInt(100) < percent;
    }

    // ---- time ----

    /** Going from deadline to deadline tells the same events at the same times as looking every millisecond. */
    private void theNextDeadlineIsNeverLate() {
        long until = now + HORIZON_MILLIS;
        assertThat(byDeadlines(until)).as("events by deadlines and by looking").isEqualTo(byLooking(until));
    }

    private List<String> byLooking(long until) {
        List<String> told = new ArrayList<>();
        LockState at = state;
        long token = lastToken;
        for (long t = now; t <= until; t++) {
            Decision decision = LockMachine.step(at, new Expire(LOCK), t, token, recoveringUntil, limits);
            for (LockEvent event : decision.events()) {
                told.add(t + " " + event);
            }
            at = decision.next();
            token = decision.lastToken();
        }
        return told;
    }

    private List<String> byDeadlines(long until) {
        List<String> told = new ArrayList<>();
        LockState at = state;
        long token = lastToken;
        long t = nextDeadline(at, now);
        while (t <= until) {
            Decision decision = LockMachine.step(at, new Expire(LOCK), t, token, recoveringUntil, limits);
            for (LockEvent event : decision.events()) {
                told.add(t + " " + event);
            }
            at = decision.next();
            token = decision.lastToken();
            long next = nextDeadline(at, t);
            assertThat(next).as("a deadline that was met is gone").isGreaterThan(t);
            t = next;
        }
        return told;
    }

    /** A store that recovers looks again when that is over. */
    private long nextDeadline(LockState at, long t) {
        long next = at.nextDeadlineMillis(t);
        return t < recoveringUntil ? Math.min(next, recoveringUntil) : next;
    }
}
