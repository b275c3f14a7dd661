package dev.palisade.server.ownership;

import static dev.palisade.server.ownership.OwnershipAction.ACKNOWLEDGE;
import static dev.palisade.server.ownership.OwnershipAction.CLAIM;
import static dev.palisade.server.ownership.OwnershipAction.DROP;
import static dev.palisade.server.ownership.OwnershipAction.LOAD;
import static dev.palisade.server.ownership.OwnershipAction.RESEND;
import static dev.palisade.server.ownership.OwnershipAction.REWRITE;
import static dev.palisade.server.ownership.OwnershipAction.SERVE;
import static dev.palisade.server.ownership.OwnershipAction.SERVE_FREEING;
import static dev.palisade.server.ownership.OwnershipAction.STOP;
import static dev.palisade.server.ownership.OwnershipAction.SUSPEND;
import static dev.palisade.server.ownership.OwnershipAction.YIELD;

import dev.palisade.server.ownership.Ownership.Phase;
import dev.palisade.server.ownership.Ownership.Refusal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * State machine of a lock server that shares a log: when it claims, when it serves, and when it drops its memory. Pure: each
 * method takes the state, one input and the time, in milliseconds of a clock that never goes back, and returns the next state
 * and what to do. Used by the driver of a shared log. An input that does not fit the phase changes nothing: it is late.
 */
public class OwnershipMachine {
    /** How often a standby claims: a server that stops is followed by the next one as soon. */
    static final long POLL_MILLIS = 100;
    /** Pause after a claim without a reply, and between two tries of a refused batch. */
    static final long RETRY_MILLIS = 100;
    /** How much longer a standby waits that had no contact: another one, or the last owner, comes first. */
    static final long NO_CONTACT_MILLIS = 1_000;

    private final Settings settings;

    /**
     * @param claimMillis how long a claim lasts, and how much longer than others a server waits that lost its own by silence
     * @param storeTimeoutMillis how long a refused batch is tried again ({@code --store-timeout})
     * @param resumes whether memory is kept after a loss of the log ({@code --after-loss resume})
     */
    public record Settings(long claimMillis, long storeTimeoutMillis, boolean resumes) {}

    public OwnershipMachine(Settings settings) {
        this.settings = settings;
    }

    /** A server that has just started. */
    public Ownership started(long nowMillis) {
        return new Ownership(Phase.STANDBY, Past.NONE, null, 0, 0, Refusal.NONE, false, nowMillis, Long.MAX_VALUE);
    }

    /** Time has passed. */
    public OwnershipStep tick(Ownership server, long nowMillis) {
        if (nowMillis < server.wakeMillis()) {
            return OwnershipStep.of(server);
        }
        Ownership awake = server.wakingAt(Long.MAX_VALUE);
        return switch (server.phase()) {
            case STANDBY, SUSPENDED -> OwnershipStep.of(awake.in(Phase.CLAIMING), CLAIM);
            case RESENDING -> OwnershipStep.of(awake, RESEND);
            default -> OwnershipStep.of(awake);
        };
    }

    /** The log replied to the claim. */
    public OwnershipStep claimReplied(Ownership server, ClaimReply reply, long nowMillis) {
        if (server.phase() != Phase.CLAIMING) {
            return OwnershipStep.of(server);
        }
        if (reply instanceof ClaimReply.Claimed claimed) {
            return claimed(server, claimed);
        }
        if (reply instanceof ClaimReply.Settling settling) {
            long wait = Math.min(settling.remainingMillis(), POLL_MILLIS);
            return OwnershipStep.of(waiting(server).wakingAt(nowMillis + wait));
        }
        return held(server, (ClaimReply.Held) reply, nowMillis);
    }

    private OwnershipStep held(Ownership server, ClaimReply.Held held, long nowMillis) {
        if (server.past().isNone()) {
            long wait = Math.min(held.remainingMillis(), POLL_MILLIS);
            return OwnershipStep.of(waiting(server).wakingAt(nowMillis + wait));
        }
        return superseded(server, nowMillis + held.remainingMillis() + settings.claimMillis());
    }

    private OwnershipStep claimed(Ownership server, ClaimReply.Claimed claimed) {
        Ownership owner = server.granted(claimed);
        boolean memory = !server.past().isNone();
        boolean loses = claimed.mine() && server.past().misses(claimed.position());
        if (!claimed.mine() || (server.refusal() == Refusal.RELOAD && !loses)) {
            List<OwnershipAction> actions = new ArrayList<>();
            if (memory && !claimed.mine()) {
                actions.add(DROP);
            }
            actions.add(LOAD);
            return new OwnershipStep(owner.with(Past.NONE).withPending(0).in(Phase.LOADING), actions);
        }
        Position found = claimed.position();
        Past past = server.past();
        if (loses) {
            Past copying = past.copying().partlyAt(found).under(claimed.term());
            return OwnershipStep.of(
                    owner.with(copying)
                            .with(server.refusal() == Refusal.NONE ? Refusal.NONE : Refusal.FREE)
                            .in(Phase.REWRITING),
                    REWRITE);
        }
        int missing = missing(server, found);
        Ownership confirmed = owner.with(past.confirmedAt(found, claimed.term()));
        return missing == 0 ? serves(confirmed) : resends(confirmed, missing);
    }

    /** The log holds all batches but the last ones, which are sent again as one. */
    private static OwnershipStep resends(Ownership server, int missing) {
        List<OwnershipAction> actions = new ArrayList<>(acknowledged(server.pending() - missing));
        actions.add(RESEND);
        Past past = server.past().sent(server.nextPosition());
        return new OwnershipStep(server.with(past).withPending(missing).in(Phase.RESENDING), actions);
    }

    private static List<OwnershipAction> acknowledged(int batches) {
        return Collections.nCopies(batches, ACKNOWLEDGE);
    }

    /** All of memory is stored: the batches that waited for it are acknowledged. */
    private static OwnershipStep serves(Ownership server) {
        List<OwnershipAction> actions = new ArrayList<>(acknowledged(server.pending()));
        Ownership next = server.withPending(0);
        if (server.stopping()) {
            actions.add(YIELD);
            return new OwnershipStep(next.in(Phase.YIELDING), actions);
        }
        boolean frees = server.refusal() != Refusal.NONE;
        actions.add(frees ? SERVE_FREEING : SERVE);
        return new OwnershipStep(next.in(frees ? Phase.FREEING : Phase.ACTIVE), actions);
    }

    /** No reply to the claim, or no contact. */
    public OwnershipStep claimFailed(Ownership server, long nowMillis) {
        if (server.phase() != Phase.CLAIMING) {
            return OwnershipStep.of(server);
        }
        long wait = server.past().isNone() ? NO_CONTACT_MILLIS : RETRY_MILLIS;
        return OwnershipStep.of(waiting(server).wakingAt(nowMillis + wait));
    }

    /** An append is about to be sent: of a batch, an empty one, or a part of memory that is rewritten. */
    public Ownership sent(Ownership server) {
        return switch (server.phase()) {
            case ACTIVE, FREEING -> {
                int pending = server.pending() + 1;
                yield server.with(server.past().sent(server.positionAfter(pending)))
                        .withPending(pending);
            }
            case REWRITING -> server.with(server.past().partlyAt(server.nextPosition()));
            default -> server;
        };
    }

    /** The append is about to be sent that completes what is rewritten. */
    public Ownership sentLast(Ownership server) {
        return server.phase() == Phase.REWRITING ? server.with(server.past().sent(server.nextPosition())) : server;
    }

    /** The oldest append that was sent is stored. */
    public OwnershipStep appended(Ownership server) {
        Ownership next = server.appended();
        Position at = server.claimed() == null ? Position.NONE : server.nextPosition();
        return switch (server.phase()) {
            case LOADING -> OwnershipStep.of(next);
            case RESENDING -> serves(confirmed(next, at));
            case REWRITING ->
                server.past().unconfirmed().equals(at) ? serves(confirmed(next, at)) : OwnershipStep.of(next);
            case ACTIVE, FREEING ->
                server.stopping() && server.pending() <= 1
                        ? serves(confirmed(next, at))
                        : stored(next.with(server.past().storedAt(at)));
            case YIELDING -> stopped(next);
            default -> OwnershipStep.of(server);
        };
    }

    private static OwnershipStep stored(Ownership server) {
        int oldest = Math.min(1, server.pending());
        return new OwnershipStep(server.withPending(server.pending() - oldest), acknowledged(oldest));
    }

    private static Ownership confirmed(Ownership server, Position at) {
        return server.with(server.past().confirmedAt(at, server.past().term()));
    }

    /** An empty ordinary append is about to be sent to a log that had refused batches. */
    public Ownership probing(Ownership server) {
        return server.phase() == Phase.FREEING ? server.with(server.past().sent(server.nextPosition())) : server;
    }

    /** That append is stored. */
    public OwnershipStep probed(Ownership server) {
        return server.phase() == Phase.FREEING
                ? serves(confirmed(server.appended(), server.nextPosition()).with(Refusal.NONE))
                : OwnershipStep.of(server);
    }

    /**
     * An append failed or has an unknown outcome, and so has every later one: none is in flight any more. Or contact was lost without
     * one.
     *
     * @param failure {@link AppendFailure#REFUSED} only if that holds for each
     */
    public OwnershipStep appendFailed(Ownership server, AppendFailure failure, long nowMillis) {
        return switch (server.phase()) {
            case YIELDING -> stopped(server);
            case LOADING ->
                failure == AppendFailure.REFUSED
                        ? OwnershipStep.of(server.with(Refusal.FREE))
                        : OwnershipStep.of(
                                server.dropped().with(server.refusal()).wakingAt(nowMillis), SUSPEND);
            case ACTIVE, FREEING, RESENDING, REWRITING ->
                failure == AppendFailure.REFUSED
                        ? refused(server, nowMillis)
                        : OwnershipStep.of(server.in(Phase.SUSPENDED).wakingAt(nowMillis + pause(server)), SUSPEND);
            default -> OwnershipStep.of(server);
        };
    }

    /** A batch that fails again right after a claim may do so for long. */
    private static long pause(Ownership server) {
        return server.phase() == Phase.RESENDING || server.phase() == Phase.REWRITING ? RETRY_MILLIS : 0;
    }

    private OwnershipStep refused(Ownership server, long nowMillis) {
        if (server.phase()
                == Phase.REWRITING) { // Under the next claim it begins again, on the way that is open to what frees.
            return OwnershipStep.of(
                    server.with(Refusal.FREE).in(Phase.SUSPENDED).wakingAt(nowMillis + RETRY_MILLIS), SUSPEND);
        }
        if (server.phase() == Phase.FREEING && server.pending() == 0) {
            return OwnershipStep.of(server.with(server.past().sent(Position.NONE))); // A probe.
        }
        long since = Math.min(server.refusedSinceMillis(), nowMillis);
        if (server.pending() > 0 && nowMillis - since < settings.storeTimeoutMillis()) {
            Ownership next = server.with(server.past().sent(server.nextPosition()))
                    .refusedAt(since)
                    .wakingAt(nowMillis + RETRY_MILLIS);
            return server.phase() == Phase.RESENDING
                    ? OwnershipStep.of(next)
                    : OwnershipStep.of(next.in(Phase.RESENDING), SUSPEND);
        }
        // Memory is ahead of a log that will not have it: claimed anew, so that no copy of the batch is ever stored.
        return OwnershipStep.of(server.with(Refusal.RELOAD).in(Phase.SUSPENDED).wakingAt(nowMillis), SUSPEND);
    }

    /** All of the log is read, and one more append was stored after that. */
    public OwnershipStep loaded(Ownership server) {
        if (server.phase() != Phase.LOADING) {
            return OwnershipStep.of(server);
        }
        ClaimReply.Claimed claimed = server.granted();
        Past past = Past.loaded(claimed.term(), settings.resumes(), claimed.position())
                .confirmedAt(new Position(claimed.writer(), server.seq()), claimed.term());
        return serves(server.with(past).with(server.refusal() == Refusal.NONE ? Refusal.NONE : Refusal.FREE));
    }

    /** SIGTERM. */
    public OwnershipStep stopping(Ownership server) {
        if (server.isServing()) {
            return server.pending() > 0
                    ? OwnershipStep.of(server.asStopping())
                    : OwnershipStep.of(server.asStopping().in(Phase.YIELDING), YIELD);
        }
        return switch (server.phase()) {
            case LOADING, REWRITING, RESENDING -> OwnershipStep.of(server.asStopping());
            case YIELDING, STOPPED -> OwnershipStep.of(server);
            default -> stopped(server);
        };
    }

    private static OwnershipStep stopped(Ownership server) {
        return OwnershipStep.of(server.in(Phase.STOPPED).wakingAt(Long.MAX_VALUE), STOP);
    }

    private static Ownership waiting(Ownership server) {
        return server.in(server.past().isNone() ? Phase.STANDBY : Phase.SUSPENDED);
    }

    // The rules that a test changes.

    /** How many of the batches that wait to be acknowledged the log does not hold. */
    int missing(Ownership server, Position found) {
        return server.past().missing(server.pending(), found);
    }

    /** The log went on without this server, so its memory is worth nothing. */
    OwnershipStep superseded(Ownership server, long nextClaimMillis) {
        return OwnershipStep.of(server.dropped().wakingAt(nextClaimMillis), DROP);
    }
}
