package dev.palisade.server.ownership;

import dev.palisade.server.ownership.LogState.Head;
import dev.palisade.server.ownership.LogState.Seen;
import dev.palisade.server.ownership.LogState.Settling;
import org.jspecify.annotations.Nullable;

/**
 * Decisions of a fenced log about claims and appends, as pure functions of its state and clock. Every log follows them: those
 * that decide elsewhere, such as in a function of Redis, are compared with this class by the contract test. Thread-safe.
 */
public class LogRules {
    /** How long a log that is not whole settles, if nothing else is said. */
    public static final long SETTLE_MILLIS = 1_000;

    private final long claimMillis;
    private final long settleMillis;

    /**
     * @param claimMillis how long a claim lasts from each append, from 1
     * @param settleMillis how long a log that is not whole waits for its last owner, and again for the best candidate
     */
    public LogRules(long claimMillis, long settleMillis) {
        this.claimMillis = claimMillis;
        this.settleMillis = settleMillis;
    }

    /** Stores a batch if its writer owns the log, and both the log and its process are where the writer left them. */
    public AppendDecision append(LogState log, AppendRequest request, long nowMillis) {
        Head head = log.head();
        if (head == null || !fits(log, head, request)) {
            return new AppendDecision(log, false);
        }
        Head next = new Head(
                head.writer(),
                request.seq(),
                head.base(),
                head.whole(),
                head.term(),
                head.server(),
                head.address(),
                request.yields() ? nowMillis : nowMillis + claimMillis,
                log.instance(),
                request.switches() ? head.rewriting() : head.generation(),
                request.switches() ? 0 : head.rewriting(),
                head.recoveringUntilMillis());
        return new AppendDecision(new LogState(next, request.tokensAfter(), log.instance(), Seen.of(next), null), true);
    }

    private boolean fits(LogState log, Head head, AppendRequest request) {
        return head.writer().equals(request.writer())
                && isNext(head, request)
                && hasOwnView(log)
                && log.tokens() == request.tokensBefore()
                && (!request.switches() || head.rewriting() != 0);
    }

    /** Claims the log: granted, held by another server, or settling. */
    public ClaimDecision claim(LogState log, ClaimRequest request, long nowMillis) {
        Position found = log.position();
        Past past = request.past();
        boolean whole = !request.damaged() && isWhole(log, request);
        boolean mine = isMine(log, past, request.server(), whole);
        boolean best = false;
        if (!whole && settles()) {
            Settling settling = settling(log, past, nowMillis);
            long age = nowMillis - settling.sinceMillis();
            best = age < 2 * settleMillis && past.term() > 0 && past.term() == settling.term();
            if (age < settleMillis || (age < 2 * settleMillis && !best)) {
                long remaining = (age < settleMillis ? settleMillis : 2 * settleMillis) - age;
                LogState next = new LogState(log.head(), log.tokens(), log.instance(), log.seen(), settling);
                return new ClaimDecision(next, new ClaimReply.Settling(remaining));
            }
        }
        Head head = log.head();
        if (head != null && !mine && !best && !returns(head, request)) {
            // Later than that, the clock was set back: written, because an end that is only computed never comes.
            long until = Math.min(head.untilMillis(), nowMillis + claimMillis);
            if (until > nowMillis) {
                LogState next =
                        new LogState(head.withUntil(until), log.tokens(), log.instance(), log.seen(), log.settling());
                return new ClaimDecision(next, new ClaimReply.Held(head.server(), head.address(), until - nowMillis));
            }
        }
        return granted(log, request, found, mine, whole, nowMillis);
    }

    private ClaimDecision granted(
            LogState log, ClaimRequest request, Position found, boolean mine, boolean whole, long nowMillis) {
        Head head = log.head();
        long recovering = recoveringUntil(head, nowMillis);
        if (!mine && !whole) {
            recovering = Math.max(recovering, nowMillis + request.recoveryMillis());
        }
        long generation = head == null ? 1 : head.generation();
        long highest = head == null ? generation : Math.max(generation, head.rewriting());
        long term = 1 + Math.max(head == null ? 0 : head.term(), request.past().term());
        Head next = new Head(
                writer(request, term),
                0,
                found,
                whole,
                term,
                request.server(),
                request.address(),
                nowMillis + claimMillis,
                log.instance(),
                generation,
                mine && request.past().misses(found) ? highest + 1 : 0,
                recovering);
        ClaimReply reply = new ClaimReply.Claimed(
                next.writer(), mine, whole, found, log.tokens(), recovering, next.term(), nowMillis);
        return new ClaimDecision(new LogState(next, log.tokens(), log.instance(), Seen.of(next), null), reply);
    }

    private static Settling settling(LogState log, Past past, long nowMillis) {
        Settling old = log.settling();
        if (old == null || !old.at().equals(log.position()) || old.sinceMillis() > nowMillis) {
            return new Settling(log.position(), nowMillis, past.term());
        }
        return new Settling(old.at(), old.sinceMillis(), Math.max(old.term(), past.term()));
    }

    private static boolean returns(Head head, ClaimRequest request) {
        return request.returning() && request.address().equals(head.address());
    }

    // The rules that a test changes.

    /** Whether the log holds every batch that the writer sent before this one. */
    boolean isNext(Head head, AppendRequest request) {
        return head.seq() == request.seq() - 1;
    }

    /** The new owner's identity. */
    WriterId writer(ClaimRequest request, long term) {
        return request.writer();
    }

    /** Whether the process itself brought the log where it is. */
    boolean hasOwnView(LogState log) {
        return log.executedLast();
    }

    /** Whether the log lost nothing since its last append, as far as the process and the candidate can tell. */
    boolean isWhole(LogState log, ClaimRequest request) {
        Head head = log.head();
        if (head == null) {
            boolean isKnown = log.settling() != null && log.settling().term() > 0;
            return request.init() && log.seen() == null && request.past().isNone() && !isKnown;
        }
        boolean libraryReloaded = log.seen() == null && head.instance().equals(log.instance());
        return (log.executedLast() || libraryReloaded)
                && (head.seq() > 0 || head.whole())
                && head.rewriting() == 0
                && !request.past().misses(head.position());
    }

    /** Whether the log's history is part of the candidate's memory, so that memory may be kept. */
    boolean isMine(LogState log, Past past, String server, boolean whole) {
        Position found = log.position();
        return covers(past, found)
                && (whole || past.resumes())
                && isKnown(log.seen(), past, found)
                && (log.head() == null
                        || log.head().rewriting() == 0
                        || log.head().server().equals(server));
    }

    boolean covers(Past past, Position found) {
        return past.covers(found);
    }

    /** A process that executed an append that the candidate does not know never calls the log the candidate's. */
    boolean isKnown(@Nullable Seen seen, Past past, Position found) {
        return seen == null || seen.position().equals(found) || past.covers(seen.position());
    }

    boolean settles() {
        return true;
    }

    /** End of a recovery window that an earlier claim began. */
    long recoveringUntil(@Nullable Head head, long nowMillis) {
        return head == null || head.recoveringUntilMillis() <= nowMillis ? 0 : head.recoveringUntilMillis();
    }
}
