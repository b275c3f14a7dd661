package dev.palisade.guard;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.guard.LockService.LeaseReply;
import dev.palisade.guard.LockService.LeaseRequest;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Registration of one guard under one name: a lease of the lock {@code palisade/guards/NAME}, renewed while the
 * guard lives. A guard with other marks that finds the name taken refuses every call. One with the same marks
 * continues, because their store arbitrates. Calls are held back until the lock service has replied once. Safety
 * never relies on it.
 */
final class GuardRegistration {
    static final String PREFIX = LockName.RESERVED;
    static final Duration TTL = Duration.ofSeconds(10);

    private static final String GUARDING = "guard with marks ";
    private static final String OBSERVING = "observing guard with marks ";
    private static final long RENEW_NANOS = TTL.toNanos() / 3;
    private static final long RETRY_NANOS = 1_000_000_000;

    /** Between two warnings that the lock service has not answered. */
    private static final long WARN_AGAIN_NANOS = 60_000_000_000L;

    /** Lock servers refuse an unknown acquire that is older than 30 s. */
    private static final long REQUEST_NANOS_MAX = 20_000_000_000L;

    private enum State {
        UNANSWERED,
        REGISTERED,
        /** A guard with the same marks, or one that only observes, is registered. */
        SHARED,
        UNREACHABLE,
        REFUSED
    }

    /**
     * A registration that the marks may be behind of.
     *
     * @param lease this guard's; null: another process has the name
     * @param observed that process only observes
     */
    private record Unproven(LeaseReply.@Nullable Granted lease, long token, boolean observed) {}

    private final LockName lock;
    private final String name;
    private final String owner;
    private final String marks;
    private final boolean observes;
    private final LockService service;
    private final GuardContext context;
    private final ResourceGates gates;
    private final MarkContinuity continuity;
    private final long sharedNanosMax;
    private final SessionId session;
    private final CompletableFuture<Void> answered = new CompletableFuture<>();
    private State state = State.UNANSWERED;
    private LeaseReply.@Nullable Granted lease;
    private long request = 1;
    private long requestedNanos;
    private LeaseReply.@Nullable Holder sharedWith;
    private long sharedSinceNanos;

    /** When the newest request was sent that was granted or renewed; the lease lasts from then at least its ttl. */
    private long renewedNanos;

    private long requestSentNanos;
    /** The marks may miss grants that another guard admitted, and are not raised yet. */
    private boolean behind;

    private boolean warned;
    private long warnedNanos;
    private boolean sharedTooLong;
    private boolean ended;

    /** The registration for which the marks are to be made whole, next. */
    private @Nullable Unproven unproven;

    private boolean proving;

    /** Raised by {@link #suspend}: replies to what was asked before count no more. */
    private int term;

    /**
     * @param observes the guard refuses nothing: it only warns
     * @param whole the token that is kept with the marks under this name; null: none
     */
    GuardRegistration(
            String name,
            String owner,
            boolean observes,
            @Nullable Long whole,
            LockService service,
            GuardContext context,
            ResourceGates gates) {
        this.lock = new LockName(PREFIX + name);
        this.name = name;
        this.owner = owner;
        this.marks = context.store().id();
        this.observes = observes;
        this.service = service;
        this.context = context;
        this.gates = gates;
        this.continuity = new MarkContinuity(name, lock, whole, service, context, gates);
        // The owner of the same marks ends its registration when it loses them, or it lapses: see MarkOwnership.
        this.sharedNanosMax = Math.max(2 * TTL.toNanos(), context.quarantineNanos());
        UUID random = UUID.randomUUID();
        this.session = new SessionId(random.getMostSignificantBits(), random.getLeastSignificantBits());
    }

    /** Completes when the lock service has answered once. */
    CompletionStage<Void> answered() {
        return answered;
    }

    void start() {
        synchronized (this) {
            holdBack("no answer yet");
            requestedNanos = context.time().nanos();
        }
        step(0);
    }

    /** Gives the name up and asks no more until {@link #resume}: the guard admits nothing meanwhile, another may own its marks. */
    synchronized void suspend() {
        if (ended) {
            return;
        }
        term++;
        LeaseReply.Granted held = lease;
        lease = null;
        if (held != null) {
            var unused = release(held);
        }
    }

    /** Asks for the name again, as at the start: calls are refused until the lock service has answered. */
    synchronized void resume() {
        if (ended) {
            return;
        }
        if (state != State.REFUSED) {
            state = State.UNANSWERED;
            holdBack("no answer yet");
        }
        int resumed = term;
        long now = context.time().nanos();
        nextRequest(now);
        context.time().at(now, () -> step(resumed));
    }

    /** Calls wait for the first answer; after it gates are open, which wait for nothing. */
    private void holdBack(String why) {
        holdBack(unanswered(why));
    }

    private void holdBack(Rejection why) {
        if (observes) {
            return;
        }
        if (answered.isDone()) {
            context.serving().refuse(this, why);
        } else {
            context.serving().impair(this, why);
        }
    }

    /** Asks no more, and gives the name up if {@code release}; otherwise the registration lapses. */
    CompletionStage<Void> end(boolean release) {
        LeaseReply.Granted held;
        synchronized (this) {
            ended = true;
            held = lease;
            lease = null;
        }
        return release && held != null ? release(held) : CompletableFuture.completedStage(null);
    }

    private CompletionStage<Void> release(LeaseReply.Granted held) {
        try {
            return service.release(held);
        } catch (RuntimeException e) {
            return CompletableFuture.failedStage(e);
        }
    }

    private void step(int asking) {
        LeaseReply.Granted held;
        LeaseRequest next;
        long now = context.time().nanos();
        synchronized (this) {
            if (ended || term != asking) {
                return;
            }
            held = lease;
            if (wasPaused(now)) {
                holdBack("it was not renewed in time");
            }
            if (now - requestedNanos > REQUEST_NANOS_MAX) {
                nextRequest(now);
            }
            requestSentNanos = now;
            next = new LeaseRequest(
                    lock,
                    new RequestId(session, request),
                    Duration.ofNanos(now - requestedNanos),
                    TTL,
                    owner,
                    (observes ? OBSERVING : GUARDING) + marks);
        }
        CompletionStage<LeaseReply> asked;
        try {
            asked = held != null ? service.renew(held).thenApply(renewed -> held) : service.tryAcquire(next);
        } catch (RuntimeException e) {
            asked = CompletableFuture.failedStage(e);
        }
        asked.whenComplete((reply, failure) -> replied(asking, reply, failure));
    }

    private void replied(int asking, @Nullable LeaseReply reply, @Nullable Throwable failure) {
        long delay;
        boolean known;
        boolean stops;
        Unproven toProve;
        synchronized (this) {
            if (ended || term != asking) {
                if (reply instanceof LeaseReply.Granted late && failure == null) {
                    var unused = release(late);
                }
                return;
            }
            boolean refused = state == State.REFUSED;
            delay = failure == null && reply != null
                    ? accept(reply)
                    : failed(MultiAdmission.rejected(orBug(failure)).rejection());
            known = state != State.UNANSWERED;
            stops = state == State.REFUSED && !refused && !observes;
            toProve = proving ? null : unproven;
            proving |= toProve != null;
            unproven = null;
        }
        if (stops) {
            gates.stopAll();
        }
        if (known) {
            answered.complete(null);
        }
        if (toProve != null) {
            prove(toProve, asking);
        }
        context.time().at(context.time().nanos() + delay, () -> step(asking));
    }

    /** Makes the marks whole before the registration counts; the registration is renewed meanwhile. */
    private void prove(Unproven registration, int asking) {
        Runnable hold = () -> {
            synchronized (this) {
                if (!ended && term == asking) {
                    behind = true;
                    holdBack(behind());
                }
            }
        };
        CompletionStage<Void> proved;
        try {
            proved = registration.lease() != null
                    ? continuity.registered(registration.token(), hold)
                    : continuity.registeredBeside(registration.token(), registration.observed(), hold);
        } catch (RuntimeException e) {
            proved = CompletableFuture.failedStage(e);
        }
        proved.whenComplete((done, failure) -> proved(registration, asking, failure));
    }

    private void proved(Unproven registration, int asking, @Nullable Throwable failure) {
        synchronized (this) {
            proving = false;
            boolean isPast = ended || term != asking || !Objects.equals(registration.lease(), lease);
            if (isPast) {
                return;
            }
            if (failure != null) {
                // Asked again with the next renewal, or when the name is looked at next.
                Rejection reply = MultiAdmission.rejected(failure).rejection();
                Rejection why = reply.reason() == Reason.MARK_UNAVAILABLE ? reply : unanswered(reply.message());
                behind = true;
                holdBack(why);
                warnUnanswered(why);
                return;
            }
            behind = false;
            become(registration.lease() != null ? State.REGISTERED : State.SHARED);
            if (wasPaused(context.time().nanos())) {
                holdBack("it was not renewed in time"); // Until the next renewal.
            }
        }
        answered.complete(null);
    }

    /** Whether a registration that was renewed all the time is older than its lease: the name may have been another guard's. */
    private boolean wasPaused(long now) {
        return state == State.REGISTERED && now - renewedNanos > TTL.toNanos();
    }

    private static Throwable orBug(@Nullable Throwable failure) {
        return failure == null ? new IllegalStateException("the lock service answered nothing") : failure;
    }

    /** @return when to ask next, in nanoseconds from now */
    private long accept(LeaseReply reply) {
        long now = context.time().nanos();
        if (reply instanceof LeaseReply.Granted granted) {
            boolean renewed = granted.equals(lease);
            lease = granted;
            renewedNanos = requestSentNanos;
            if (!renewed) {
                nextRequest(now);
            }
            long token = granted.token().value();
            if (observes || continuity.isWhole(token)) {
                become(State.REGISTERED);
                if (wasPaused(now)) {
                    holdBack("it was not renewed in time"); // The reply is older than the lease that it renewed.
                    return 0;
                }
            } else {
                unproven = new Unproven(granted, token, false);
                if (state == State.UNREACHABLE) {
                    holdBack("it was not registered meanwhile");
                }
            }
            return RENEW_NANOS;
        }
        nextRequest(now);
        Optional<LeaseReply.Holder> holder = ((LeaseReply.Busy) reply).holder();
        if (holder.isEmpty()) {
            return failed(new Rejection(Reason.STORE_UNAVAILABLE, "the name is being handed over"));
        }
        Optional<Rejection> conflict = conflict(holder.get(), now);
        long token = holder.get().token().value();
        if (conflict.isPresent()) {
            conflicting(conflict.get());
        } else if (observes || continuity.mayContinueBeside(token)) {
            become(State.SHARED);
        } else {
            unproven = new Unproven(null, token, holder.get().purpose().startsWith(OBSERVING));
        }
        return RENEW_NANOS;
    }

    private Optional<Rejection> conflict(LeaseReply.Holder holder, long now) {
        if (holder.purpose().startsWith(OBSERVING) && !observes) {
            if (state != State.SHARED) {
                context.warn("guard_observes", otherGuard(holder, "only observes '" + name + "'"));
            }
            return Optional.empty();
        }
        if (!holder.purpose().endsWith(marks)) {
            return Optional.of(otherGuard(holder, "already protects '" + name + "' with marks of its own"));
        }
        if (sharedWith == null || !sharedWith.token().equals(holder.token())) {
            sharedWith = holder;
            sharedSinceNanos = now;
            sharedTooLong = false;
        }
        if (context.store().isShared() || now - sharedSinceNanos <= sharedNanosMax) {
            return Optional.empty();
        }
        Rejection copy = otherGuard(holder, "already protects '" + name + "' with a copy of these marks");
        if (context.store().isHeldForLife()) {
            return Optional.of(copy); // Two guards cannot have one set of marks for that long.
        }
        // The store confirms its owner (MarkOwnership), which must not lose to a guard that only kept the name.
        if (!sharedTooLong) {
            sharedTooLong = true;
            context.warn("registration_shared", copy);
        }
        return Optional.empty();
    }

    private void conflicting(Rejection why) {
        if (state == State.REFUSED) {
            return;
        }
        if (observes) {
            context.warn("registration_refused", why);
            state = State.REFUSED;
            return;
        }
        continuity.missesGrants();
        // A new store that was asked nothing yet can wait for the name; older marks have missed the other guard's
        // grants.
        boolean mayWait = gates.isUnused();
        Rejection refusal = mayWait
                ? why
                : new Rejection(
                        why.reason(),
                        why.message()
                                + "; this guard's marks may have missed grants that the other one admitted: start it"
                                + " again with those of the other one, or with an empty store");
        state = State.REFUSED;
        ended = !mayWait;
        context.serving().refuse(this, refusal);
        context.warn("registration_refused", refusal);
    }

    private long failed(Rejection why) {
        sharedWith = null; // A lock server that restarts gives the lease of a dead guard its whole ttl again.
        if (lease != null && hasEnded(why.reason())) {
            lease = null;
            if (state == State.REGISTERED || state == State.UNREACHABLE) {
                // From now on another guard may have the name.
                state = State.UNANSWERED;
                holdBack(why.message());
            }
            return 0;
        }
        if (state == State.UNANSWERED) {
            holdBack(why.message());
            warnUnanswered(unanswered(why.message()));
        } else if (behind || wasPaused(context.time().nanos())) {
            // Another guard may have admitted newer grants: an outage must not open what is held for that.
            state = State.UNANSWERED;
            holdBack(why.message());
            warnUnanswered(unanswered(why.message()));
        } else if (state == State.REGISTERED || state == State.SHARED) {
            state = State.UNREACHABLE;
            context.serving().clear(this);
            context.warn(
                    "unregistered",
                    new Rejection(
                            Reason.STORE_UNAVAILABLE,
                            "the registration of '" + name + "' cannot be renewed (" + why.message()
                                    + "); the guard goes on, but a second one with marks of its own would not be"
                                    + " noticed: look at the lock server"));
        }
        return RETRY_NANOS;
    }

    private void warnUnanswered(Rejection why) {
        long now = context.time().nanos();
        if (!warned || now - warnedNanos >= WARN_AGAIN_NANOS) {
            warned = true;
            warnedNanos = now;
            context.warn("registration_unanswered", why);
        }
    }

    private static boolean hasEnded(Reason reason) {
        return reason == Reason.NOT_HOLDER || reason == Reason.TOKEN_MISMATCH || reason == Reason.LEASE_EXPIRED;
    }

    private void become(State next) {
        if (state != next) {
            if (state == State.REFUSED) {
                gates.waitForOthers();
            }
            state = next;
            context.events().tellAlways(next == State.REGISTERED ? "registered" : "registration_shared", "name", name);
        }
        context.serving().clear(this);
    }

    private void nextRequest(long now) {
        request++;
        requestedNanos = now;
    }

    /** @param how a verb and its object: what the other guard does to the name */
    private Rejection otherGuard(LeaseReply.Holder holder, String how) {
        Instant since = Instant.ofEpochMilli(context.time().millis())
                .minus(holder.held())
                .truncatedTo(ChronoUnit.SECONDS);
        return new Rejection(
                Reason.MARK_UNAVAILABLE,
                "another guard (" + holder.owner() + ", " + holder.purpose() + ", registered at " + since + ") " + how
                        + "; two guards with separate marks let late writes through, so nothing was applied: run one"
                        + " guard, or check in the database, or, only if they protect different data, give each its own"
                        + " name by Guard.Builder.protecting");
    }

    private Rejection behind() {
        return new Rejection(
                Reason.MARK_UNAVAILABLE,
                "another guard may have protected '" + name
                        + "', and this guard raises its marks; nothing was applied: try again");
    }

    private Rejection unanswered(String why) {
        return new Rejection(
                Reason.MARK_UNAVAILABLE,
                "the lock server has not answered yet whether another guard protects '" + name
                        + "', so nothing was applied: look at the lock server and at the guard's channel to it, and try"
                        + " again (" + why + ")");
    }
}
