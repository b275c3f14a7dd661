package dev.palisade.guard;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Registration of one guard under one name: a lease of the lock {@code palisade/guards/NAME}, renewed while the guard lives.
 * A guard with other marks that finds the name taken refuses every call; one with the same marks goes on, because their
 * store arbitrates. Calls are held back until the lock service has answered once. Never what safety rests on.
 */
final class GuardRegistration {
    static final String PREFIX = "palisade/guards/";
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

    private final LockName lock;
    private final String name;
    private final String owner;
    private final String marks;
    private final boolean observes;
    private final LockService service;
    private final House house;
    private final Doorways doorways;
    private final long sharedNanosMax;
    private final SessionId session;
    private final CompletableFuture<Void> answered = new CompletableFuture<>();
    private State state = State.UNANSWERED;
    private LeaseReply.@Nullable Granted lease;
    private long request = 1;
    private long requestedNanos;
    private LeaseReply.@Nullable Holder sharedWith;
    private long sharedSinceNanos;
    private boolean warned;
    private long warnedNanos;
    private boolean sharedTooLong;
    private boolean ended;

    /** Raised by {@link #suspend}: replies to what was asked before count no more. */
    private int term;

    /** @param observes the guard refuses nothing: it only warns */
    GuardRegistration(
            String name, String owner, boolean observes, LockService service, House house, Doorways doorways) {
        this.lock = new LockName(PREFIX + name);
        this.name = name;
        this.owner = owner;
        this.marks = house.store().id();
        this.observes = observes;
        this.service = service;
        this.house = house;
        this.doorways = doorways;
        // The owner of the same marks ends its registration when it loses them, or it lapses: see MarkOwnership.
        this.sharedNanosMax = Math.max(2 * TTL.toNanos(), house.quarantineNanos());
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
            requestedNanos = house.time().nanos();
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
        long now = house.time().nanos();
        nextRequest(now);
        house.time().at(now, () -> step(resumed));
    }

    /** Calls wait for the first answer; after it doorways are open, which wait for nothing. */
    private void holdBack(String why) {
        if (observes) {
            return;
        }
        if (answered.isDone()) {
            house.serving().refuse(this, unanswered(why));
        } else {
            house.serving().impair(this, unanswered(why));
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
        long now = house.time().nanos();
        synchronized (this) {
            if (ended || term != asking) {
                return;
            }
            held = lease;
            if (now - requestedNanos > REQUEST_NANOS_MAX) {
                nextRequest(now);
            }
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
                    : failed(Entering.rejected(orBug(failure)).rejection());
            known = state != State.UNANSWERED;
            stops = state == State.REFUSED && !refused && !observes;
        }
        if (stops) {
            doorways.stopAll();
        }
        if (known) {
            answered.complete(null);
        }
        house.time().at(house.time().nanos() + delay, () -> step(asking));
    }

    private static Throwable orBug(@Nullable Throwable failure) {
        return failure == null ? new IllegalStateException("the lock service answered nothing") : failure;
    }

    /** @return when to ask next, in nanoseconds from now */
    private long accept(LeaseReply reply) {
        long now = house.time().nanos();
        if (reply instanceof LeaseReply.Granted granted) {
            boolean renewed = granted.equals(lease);
            lease = granted;
            if (!renewed) {
                nextRequest(now);
            }
            become(State.REGISTERED);
            return RENEW_NANOS;
        }
        nextRequest(now);
        Optional<LeaseReply.Holder> holder = ((LeaseReply.Busy) reply).holder();
        if (holder.isEmpty()) {
            return failed(new Rejection(Reason.STORE_UNAVAILABLE, "the name is being handed over"));
        }
        conflict(holder.get(), now).ifPresentOrElse(why -> conflicting(why), () -> become(State.SHARED));
        return RENEW_NANOS;
    }

    private Optional<Rejection> conflict(LeaseReply.Holder holder, long now) {
        if (holder.purpose().startsWith(OBSERVING) && !observes) {
            if (state != State.SHARED) {
                house.warn("guard_observes", otherGuard(holder, "only observes '" + name + "'"));
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
        if (now - sharedSinceNanos <= sharedNanosMax) {
            return Optional.empty();
        }
        Rejection copy = otherGuard(holder, "already protects '" + name + "' with a copy of these marks");
        if (house.store().isHeldForLife()) {
            return Optional.of(copy); // Two guards cannot have one set of marks for that long.
        }
        // The store confirms its owner (MarkOwnership), which must not lose to a guard that only kept the name.
        if (!sharedTooLong) {
            sharedTooLong = true;
            house.warn("registration_shared", copy);
        }
        return Optional.empty();
    }

    private void conflicting(Rejection why) {
        if (state == State.REFUSED) {
            return;
        }
        if (observes) {
            house.warn("registration_refused", why);
            state = State.REFUSED;
            return;
        }
        // A new store that was asked nothing yet can wait for the name; older marks have missed the other guard's
        // grants.
        boolean mayWait = doorways.isUnused();
        Rejection refusal = mayWait
                ? why
                : new Rejection(
                        why.reason(),
                        why.message()
                                + "; this guard's marks may have missed grants that the other one admitted: start it"
                                + " again with those of the other one, or with an empty store");
        state = State.REFUSED;
        ended = !mayWait;
        house.serving().refuse(this, refusal);
        house.warn("registration_refused", refusal);
    }

    private long failed(Rejection why) {
        sharedWith = null; // A lock server that restarts gives the lease of a dead guard its whole ttl again.
        if (lease != null && hasEnded(why.reason())) {
            lease = null;
            return 0;
        }
        if (state == State.UNANSWERED) {
            holdBack(why.message());
            warnUnanswered(unanswered(why.message()));
        } else if (state == State.REGISTERED || state == State.SHARED) {
            state = State.UNREACHABLE;
            house.warn(
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
        long now = house.time().nanos();
        if (!warned || now - warnedNanos >= WARN_AGAIN_NANOS) {
            warned = true;
            warnedNanos = now;
            house.warn("registration_unanswered", why);
        }
    }

    private static boolean hasEnded(Reason reason) {
        return reason == Reason.NOT_HOLDER || reason == Reason.TOKEN_MISMATCH || reason == Reason.LEASE_EXPIRED;
    }

    private void become(State next) {
        if (state != next) {
            if (state == State.REFUSED) {
                // Calls that the other guard let in may still run.
                doorways.closeUntil(house.time().nanos() + house.quarantineNanos());
            }
            state = next;
            house.serving().clear(this);
            house.events().tellAlways(next == State.REGISTERED ? "registered" : "registration_shared", "name", name);
        }
    }

    private void nextRequest(long now) {
        request++;
        requestedNanos = now;
    }

    /** @param how a verb and its object: what the other guard does to the name */
    private Rejection otherGuard(LeaseReply.Holder holder, String how) {
        Instant since =
                Instant.ofEpochMilli(house.time().millis()).minus(holder.held()).truncatedTo(ChronoUnit.SECONDS);
        return new Rejection(
                Reason.MARK_UNAVAILABLE,
                "another guard (" + holder.owner() + ", " + holder.purpose() + ", registered at " + since + ") " + how
                        + "; two guards with separate marks let late writes through, so nothing was applied: run one"
                        + " guard, or check in the database, or, only if they protect different data, give each its own"
                        + " name by GuardBuilder.protecting");
    }

    private Rejection unanswered(String why) {
        return new Rejection(
                Reason.MARK_UNAVAILABLE,
                "the lock server has not answered yet whether another guard protects '" + name
                        + "', so nothing was applied: look at the lock server and at the guard's channel to it, and try"
                        + " again (" + why + ")");
    }
}
