package dev.palisade.server.core;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Runs one trace: keeps its comments and commands and writes the answers and events the machine gives. Every step is judged
 * too.
 *
 * <pre>
 * > TIME VERB REQUEST [shared] [key=value ...]
 * </pre>
 *
 * {@code forcerelease all} names no lease; {@code forcerelease a1} the one with that token.
 *
 * A request is a session's letter and a number; its grant has the same name. TIME is in milliseconds. Keys: ttl, wait,
 * delay, atleast, age, alive, gen, token, session, grant. Beside the commands: {@code limits} (before the first command),
 * {@code last-token}, {@code recovering UNTIL} (leases may be lost, and none is granted until then), {@code tries x1..x300},
 * {@code leaves x1..x300} (of requests that never came), {@code restart}.
 */
public final class Trace {
    static final Set<String> VERBS = Set.of(
            "acquire",
            "accept",
            "renew",
            "release",
            "leave",
            "expire",
            "abandon",
            "resume",
            "reclaim",
            "describe",
            "requestrelease",
            "forcerelease",
            "checksequencer",
            "barrier");

    private static final LockName LOCK = new LockName("trace");

    private final Machine machine;
    private final @Nullable Coverage coverage;
    private final Map<String, Long> tokens = new HashMap<>();
    private final StringBuilder out = new StringBuilder();
    private Limits limits = new Limits(1_000, 10_000, 300_000, 86_400_000, 60_000, 3_600_000, 2_000, 4, 4, 30_000);
    private LockState state = LockState.unused(LOCK, 0);
    private long lastToken;
    private long recoveringUntil;
    private @Nullable Judge judge;

    public Trace(Machine machine) {
        this(machine, null);
    }

    Trace(Machine machine, @Nullable Coverage coverage) {
        this.machine = machine;
        this.coverage = coverage;
    }

    public String run(String trace) {
        for (String line : trace.lines().toList()) {
            if (line.startsWith("> ")) {
                out.append(line).append('\n');
                run(line.substring(2).split(" +", 0));
            } else if (line.isEmpty() || line.startsWith("#")) {
                out.append(line).append('\n');
            }
        }
        return out.toString();
    }

    private void run(String[] words) {
        switch (words[0]) {
            case "limits" -> limits(arguments(words, 1));
            case "last-token" -> {
                lastToken = Long.parseLong(words[1]);
                judge().mintedElsewhere(lastToken);
            }
            case "recovering" -> recoveringUntil = Long.parseLong(words[1]);
            default -> run(Long.parseLong(words[0]), words[1], words);
        }
    }

    private void limits(Map<String, String> by) {
        limits = new Limits(
                limits.ttlMinMillis(),
                limits.ttlDefaultMillis(),
                limits.ttlMaxMillis(),
                limits.waitMaxMillis(),
                limits.lockDelayMaxMillis(),
                limits.lockAtLeastForMaxMillis(),
                number(by, "offer", limits.offerMillis()),
                (int) number(by, "waiters", limits.waitersPerLockMax()),
                (int) number(by, "holders", limits.holdersPerLockMax()),
                limits.acquireAgeMaxMillis());
    }

    private void run(long now, String verb, String[] words) {
        if (verb.equals("restart")) {
            state = judge().restart(now);
            return;
        }
        if (verb.equals("tries")) {
            String[] range = words[2].split("\\.\\.", 2);
            for (long n = numberOf(range[0]); n <= numberOf(range[1]); n++) {
                step(now, acquire(range[0].substring(0, 1) + n, Map.of()));
            }
            out.append("  (each ended BUSY)\n");
            return;
        }
        if (verb.equals("leaves")) {
            String[] range = words[2].split("\\.\\.", 2);
            for (long n = numberOf(range[0]); n <= numberOf(range[1]); n++) {
                step(now, new Leave(LOCK, request(range[0].substring(0, 1) + n), Leave.BY_CLIENT));
            }
            out.append("  (each ended LEFT)\n");
            return;
        }
        String name = words.length > 2 ? words[2] : "";
        Decision decision = step(now, command(verb, name, arguments(words, 3)));
        out.append(text(decision.answer())).append('\n');
        for (LockEvent event : decision.events()) {
            out.append("  ").append(text(event)).append('\n');
        }
        if (decision.answer() instanceof Answer.Described) {
            describe(decision.next());
        }
    }

    private Decision step(long now, Command command) {
        Decision decision = machine.step(state, command, now, lastToken, recoveringUntil, limits);
        judge().judge(command, now, recoveringUntil, decision);
        if (coverage != null) {
            coverage.count(state, command, decision);
        }
        for (LockEvent event : decision.events()) {
            if (event instanceof LockEvent.Granted granted) {
                tokens.put(name(granted.grant().id()), granted.grant().token().value());
            } else if (event instanceof LockEvent.Offered offered) {
                tokens.put(name(offered.request()), offered.token().value());
            } else if (event instanceof LockEvent.Reclaimed reclaimed) {
                tokens.put(
                        name(reclaimed.grant().id()), reclaimed.grant().token().value());
            }
        }
        state = decision.next();
        lastToken = decision.lastToken();
        return decision;
    }

    private Judge judge() {
        Judge made = judge;
        if (made == null) {
            made = new Judge(state, limits, lastToken);
            judge = made;
        }
        return made;
    }

    // ---- reading ----

    private Command command(String verb, String name, Map<String, String> by) {
        return switch (verb) {
            case "acquire" -> acquire(name, by);
            case "accept" -> new Accept(LOCK, grant(name), token(name, by), session(name, by), number(by, "gen", 0));
            case "renew" -> new Renew(LOCK, grant(name), token(name, by), session(name, by));
            case "release" -> new Release(LOCK, grant(name), token(name, by), session(name, by));
            case "leave" -> new Leave(LOCK, request(name), number(by, "gen", Leave.BY_CLIENT));
            case "expire" -> new Expire(LOCK);
            case "abandon" -> new Abandon(LOCK, grant(name), number(by, "gen", 1), EndCause.CONNECTION_BROKE);
            case "resume" -> new Resume(LOCK, grant(name), token(name, by), session(name, by), number(by, "gen", 2));
            case "reclaim" -> new Reclaim(LOCK, asked(name, by, 2), token(name, by));
            case "describe" -> new Describe(LOCK);
            case "checksequencer" -> new CheckSequencer(LOCK, grant(name), token(name, by));
            case "barrier" -> new Barrier(LOCK);
            case "requestrelease" -> new RequestRelease(LOCK, "ops", "why");
            case "forcerelease" ->
                new ForceRelease(LOCK, name.equals("all") ? 0 : token(name, by).value(), "ops", "why");
            default -> throw new IllegalArgumentException("no command is called " + verb);
        };
    }

    private static Acquire acquire(String name, Map<String, String> by) {
        return new Acquire(
                LOCK,
                asked(name, by, 1),
                number(by, "wait", 0),
                number(by, "age", 0),
                number(by, "alive", Long.MAX_VALUE));
    }

    /** A session that is given speaks for the request in place of its own. */
    private static Request asked(String name, Map<String, String> by, long gen) {
        return new Request(
                new RequestId(session(name, by), numberOf(name)),
                number(by, "gen", gen),
                grant(by.getOrDefault("grant", name)),
                by.containsKey("shared") ? Mode.SHARED : Mode.EXCLUSIVE,
                number(by, "ttl", 10_000),
                number(by, "delay", 0),
                number(by, "atleast", 0),
                "",
                "");
    }

    private static Map<String, String> arguments(String[] words, int from) {
        Map<String, String> by = new HashMap<>();
        for (int i = from; i < words.length; i++) {
            String[] pair = words[i].split("=", 2);
            by.put(pair[0], pair.length == 2 ? pair[1] : "");
        }
        return by;
    }

    private static long number(Map<String, String> by, String key, long otherwise) {
        String text = by.get(key);
        return text == null ? otherwise : Long.parseLong(text);
    }

    private static long numberOf(String name) {
        return Long.parseLong(name.substring(1));
    }

    private static SessionId session(String name, Map<String, String> by) {
        return new SessionId(0, by.getOrDefault("session", name).charAt(0));
    }

    private static RequestId request(String name) {
        return new RequestId(new SessionId(0, name.charAt(0)), numberOf(name));
    }

    private static GrantId grant(String name) {
        return new GrantId(name.charAt(0), numberOf(name));
    }

    private FencingToken token(String name, Map<String, String> by) {
        return new FencingToken(number(by, "token", tokens.getOrDefault(name, 1L)));
    }

    // ---- writing ----

    private void describe(LockState described) {
        for (Grant grant : described.holders()) {
            out.append("  holds ")
                    .append(text(grant))
                    .append(" since ")
                    .append(grant.grantedAtMillis())
                    .append('\n');
        }
        for (Offer offer : described.offers()) {
            out.append("  offered ")
                    .append(name(offer.request().id()))
                    .append(" token ")
                    .append(offer.token());
            out.append(" lapses ").append(offer.lapsesAtMillis()).append('\n');
        }
        for (Waiter waiter : described.waiters()) {
            out.append("  waits ").append(text(waiter)).append('\n');
        }
        List<Tombstone> ends = new ArrayList<>(described.tombstones());
        ends.sort(Comparator.comparingLong(Tombstone::endedAtMillis));
        for (Tombstone tombstone : ends) {
            out.append("  ended ")
                    .append(text(tombstone))
                    .append(" at ")
                    .append(tombstone.endedAtMillis())
                    .append('\n');
        }
        if (described.lockDelayUntilMillis() > 0) {
            out.append("  closed until ")
                    .append(described.lockDelayUntilMillis())
                    .append('\n');
        }
        if (described.minimumHoldUntilMillis() > 0) {
            out.append("  minimum hold until ")
                    .append(described.minimumHoldUntilMillis())
                    .append('\n');
        }
        if (described.forgottenUntilMillis() > 0) {
            out.append("  forgotten until ")
                    .append(described.forgottenUntilMillis())
                    .append('\n');
        }
    }

    private static String text(Answer answer) {
        if (answer instanceof Answer.Granted granted) {
            return "granted " + text(granted.grant());
        }
        if (answer instanceof Answer.Renewed renewed) {
            return "renewed " + text(renewed.grant());
        }
        if (answer instanceof Answer.Resumed resumed) {
            return "resumed " + text(resumed.grant()) + " gen "
                    + resumed.grant().request().sessionGen();
        }
        if (answer instanceof Answer.Queued queued) {
            return "queued at " + queued.position();
        }
        if (answer instanceof Answer.Busy busy) {
            return "busy, holder " + busy.holder().map(Trace::text).orElse("none") + ", remaining "
                    + busy.remainingMillis()
                    + (busy.minimumHoldRemainingMillis() == 0
                            ? ""
                            : ", minimum hold " + busy.minimumHoldRemainingMillis())
                    + ", waiters " + busy.waiters();
        }
        if (answer instanceof Answer.WaitEnded ended) {
            return "wait ended " + ended.end();
        }
        if (answer instanceof Answer.Released) {
            return "released";
        }
        if (answer instanceof Answer.Left left) {
            return left.wasWaiting() ? "left the queue" : "left, was not waiting";
        }
        if (answer instanceof Answer.Abandoned abandoned) {
            return abandoned.ended() ? "abandoned" : "abandoned nothing";
        }
        if (answer instanceof Answer.Described described) {
            return "described at " + described.nowMillis();
        }
        if (answer instanceof Answer.Expired) {
            return "time passed";
        }
        if (answer instanceof Answer.ReleaseRequested asked) {
            return "asked " + asked.holders();
        }
        if (answer instanceof Answer.ForceReleased released) {
            return "force-released " + released.leases();
        }
        if (answer instanceof Answer.Checked checked) {
            return checked.alive() ? "alive" : "not alive";
        }
        if (answer instanceof Answer.Raised raised) {
            return "barrier " + raised.barrier();
        }
        if (answer instanceof Answer.Refused refused) {
            String after = refused.rejection().metadata().get(Rejection.RETRY_AFTER_MILLIS);
            return "refused " + refused.rejection().reason() + (after == null ? "" : ", retry after " + after);
        }
        throw new IllegalArgumentException("a new kind of answer: " + answer);
    }

    private static String text(LockEvent event) {
        if (event instanceof LockEvent.Granted granted) {
            return "Granted " + text(granted.grant());
        }
        if (event instanceof LockEvent.Queued queued) {
            return "Queued " + text(queued.waiter());
        }
        if (event instanceof LockEvent.Offered offered) {
            return "Offered " + name(offered.request()) + " token " + offered.token() + " lapses "
                    + offered.lapsesAtMillis();
        }
        if (event instanceof LockEvent.Accepted accepted) {
            return "Accepted " + name(accepted.grant()) + " at " + accepted.atMillis();
        }
        if (event instanceof LockEvent.Lapsed lapsed) {
            return "Lapsed " + name(lapsed.grant());
        }
        if (event instanceof LockEvent.Withdrawn withdrawn) {
            return "Withdrawn " + name(withdrawn.grant());
        }
        if (event instanceof LockEvent.Reclaimed reclaimed) {
            return "Reclaimed " + text(reclaimed.grant());
        }
        if (event instanceof LockEvent.Ended ended) {
            return "Ended " + text(ended.tombstone())
                    + (ended.lockDelayUntilMillis() == 0 ? "" : ", closed until " + ended.lockDelayUntilMillis());
        }
        if (event instanceof LockEvent.Resumed resumed) {
            return "Resumed " + name(resumed.grant()) + " gen " + resumed.sessionGen();
        }
        if (event instanceof LockEvent.Renewed renewed) {
            return "Renewed " + name(renewed.grant()) + " until " + renewed.expiresAtMillis();
        }
        if (event instanceof LockEvent.MinimumHoldEnded ended) {
            return "MinimumHoldEnded" + (ended.detail().isEmpty() ? "" : " " + ended.detail());
        }
        if (event instanceof LockEvent.ReleaseRequested asked) {
            return "ReleaseRequested " + name(asked.request()) + " by " + asked.by() + ": " + asked.why();
        }
        if (event instanceof LockEvent.KeptAlive heard) {
            return "KeptAlive " + name(heard.request()) + alive(heard.aliveUntilMillis());
        }
        throw new IllegalArgumentException("a new kind of event: " + event);
    }

    private static String text(Grant grant) {
        String id = name(grant.request().id());
        return id + (grant.mode() == Mode.SHARED ? " shared" : "") + " token " + grant.token() + " until "
                + grant.expiresAtMillis()
                + (name(grant.id()).equals(id) ? "" : " grant " + name(grant.id()));
    }

    private static String text(Waiter waiter) {
        return name(waiter.request().id())
                + (waiter.request().mode() == Mode.SHARED ? " shared" : "")
                + " until " + waiter.waitUntilMillis()
                + alive(waiter.aliveUntilMillis())
                + (waiter.lapse() == Waiter.Lapse.NONE ? "" : " " + waiter.lapse());
    }

    private static String alive(long millis) {
        return millis == Long.MAX_VALUE ? "" : " alive until " + millis;
    }

    private static String text(Tombstone tombstone) {
        return name(tombstone.request()) + (tombstone.token() == 0 ? "" : " token " + tombstone.token()) + " "
                + tombstone.end()
                + (tombstone.detail().isEmpty() || tombstone.end() == End.ABANDONED ? "" : " " + tombstone.detail());
    }

    private static String name(RequestId id) {
        return "" + (char) id.session().low() + id.number();
    }

    private static String name(GrantId id) {
        return "" + (char) id.high() + id.low();
    }
}
