package dev.palisade.client;

import dev.palisade.contract.Mode;
import io.grpc.Channel;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * How to acquire. Start from how long to wait: {@link #trying()}, {@link #waiting(Duration)} or {@link #waiting()};
 * there is no default for it. Everything else is: EXCLUSIVE, the client's ttl, no lock-delay, no minimum hold time, no
 * purpose, no claims, an interrupt on loss. Immutable and safe for use by many threads; each wither returns a changed
 * copy. Withers throw {@link IllegalArgumentException} on a value that can never be right; the server may have narrower
 * limits.
 */
public final class AcquireOptions {
    private static final AcquireOptions TRYING = new AcquireOptions(
            Mode.EXCLUSIVE, Duration.ZERO, Duration.ZERO, Duration.ZERO, Duration.ZERO, "", List.of(), true);
    private static final Duration TTL_MAX = Duration.ofMinutes(5);
    private static final Duration LOCK_DELAY_MAX = Duration.ofSeconds(60);
    private static final Duration LOCK_AT_LEAST_FOR_MAX = Duration.ofHours(1);
    private static final int PURPOSE_BYTES_MAX = 256;
    private static final int RESOURCE_BYTES_MAX = 512;

    /** Longer waits are endless. A sum of nanoseconds with it does not overflow. */
    static final Duration WAIT_ENDLESS = Duration.ofDays(36_500);

    private final Mode mode;
    private final Duration wait;
    private final Duration ttl;
    private final Duration lockDelay;
    private final Duration lockAtLeastFor;
    private final String purpose;
    private final List<Claim> claims;
    private final boolean interruptOnLoss;

    private AcquireOptions(
            Mode mode,
            Duration wait,
            Duration ttl,
            Duration lockDelay,
            Duration lockAtLeastFor,
            String purpose,
            List<Claim> claims,
            boolean interruptOnLoss) {
        this.mode = mode;
        this.wait = wait;
        this.ttl = ttl;
        this.lockDelay = lockDelay;
        this.lockAtLeastFor = lockAtLeastFor;
        this.purpose = purpose;
        this.claims = claims;
        this.interruptOnLoss = interruptOnLoss;
    }

    /** Takes the lock if it is free now; stays in no queue. */
    public static AcquireOptions trying() {
        return TRYING;
    }

    /** Waits in the queue until the lock is granted, without limit. */
    public static AcquireOptions waiting() {
        return TRYING.within(WAIT_ENDLESS);
    }

    /**
     * Waits in the queue for at most {@code limit}. Zero is a try; more than a hundred years is without limit.
     *
     * @throws IllegalArgumentException when it is negative
     */
    public static AcquireOptions waiting(Duration limit) {
        return TRYING.within(limit);
    }

    /** Holds the lock SHARED: beside other SHARED holders, and no EXCLUSIVE one. */
    public AcquireOptions shared() {
        return mode(Mode.SHARED);
    }

    /** How to hold the lock. */
    public AcquireOptions mode(Mode newMode) {
        return new AcquireOptions(newMode, wait, ttl, lockDelay, lockAtLeastFor, purpose, claims, interruptOnLoss);
    }

    /** The same with another wait. */
    AcquireOptions within(Duration newWait) {
        if (newWait.isNegative()) {
            throw new IllegalArgumentException("wait is " + newWait + "; use zero for a try, or a longer one");
        }
        Duration capped = newWait.compareTo(WAIT_ENDLESS) > 0 ? WAIT_ENDLESS : newWait;
        return new AcquireOptions(mode, capped, ttl, lockDelay, lockAtLeastFor, purpose, claims, interruptOnLoss);
    }

    /**
     * How long the lease outlives the last keep-alive: 1 s to 5 min, zero takes the client's, else the server's
     * default.
     */
    public AcquireOptions ttl(Duration newTtl) {
        return new AcquireOptions(
                mode, wait, checkedTtl(newTtl), lockDelay, lockAtLeastFor, purpose, claims, interruptOnLoss);
    }

    /**
     * How long the lock stays closed after this lease expires or is abandoned, not after a release: 0 to 60 s. With a
     * lock-delay, an acquire that had to wait takes one round trip more: the server does not count an offer as a lease
     * until it is accepted.
     */
    public AcquireOptions lockDelay(Duration newLockDelay) {
        if (newLockDelay.isNegative() || newLockDelay.compareTo(LOCK_DELAY_MAX) > 0) {
            throw new IllegalArgumentException("lock-delay is " + newLockDelay + "; use 0 to 60 s");
        }
        return new AcquireOptions(mode, wait, ttl, newLockDelay, lockAtLeastFor, purpose, claims, interruptOnLoss);
    }

    /**
     * The minimum hold time, 0 to 1 h, of EXCLUSIVE only: the lock is granted to no one, this client included, before
     * so much time has passed since this grant, however early the lease is released and however it ends. For a job that
     * runs on several machines at one time and must run once, although it may be shorter than their clocks are apart:
     * at least that difference, and less than the time between two runs. The lease itself ends when it is released. An
     * operator's forced release ends the minimum hold time. Threads of one client that wait for the lock with this
     * option are granted it one by one by the server. A server that does not know it makes the acquire
     * {@link AcquireResult.Unavailable}. With it, an acquire that had to wait takes one round trip more.
     *
     * @throws IllegalArgumentException when it is negative or longer than 1 h
     */
    public AcquireOptions lockAtLeastFor(Duration newLockAtLeastFor) {
        if (newLockAtLeastFor.isNegative() || newLockAtLeastFor.compareTo(LOCK_AT_LEAST_FOR_MAX) > 0) {
            throw new IllegalArgumentException("lockAtLeastFor is " + newLockAtLeastFor + "; use 0 to 1 h");
        }
        return new AcquireOptions(mode, wait, ttl, lockDelay, newLockAtLeastFor, purpose, claims, interruptOnLoss);
    }

    /** Why the lock is taken, for people: at most 256 bytes of UTF-8. */
    public AcquireOptions purpose(String newPurpose) {
        String checked = Arguments.text("purpose", newPurpose, 0, PURPOSE_BYTES_MAX);
        return new AcquireOptions(mode, wait, ttl, lockDelay, lockAtLeastFor, checked, claims, interruptOnLoss);
    }

    /**
     * Has the lock claimed at these guards, besides those named before, for the resource that is called like it. See
     * {@link #claiming(String, Channel...)}.
     */
    public AcquireOptions claiming(Channel... guards) {
        return claimingAt("", guards);
    }

    /**
     * Counts the lock as granted only when each of these guards, besides those named before, has claimed
     * {@code resource} for it: from then on no call of an earlier holder is applied there. The guards are asked at
     * once, for at most the wait that is left (a try: the client's call timeout), and the lease is kept alive
     * meanwhile. If one refuses or cannot be reached, or the lease is lost, the lock is released and the acquire fails
     * with that reason.
     *
     * @param resource 1 to 512 bytes of UTF-8, bound to this lock by the guard
     * @param guards channels to the services that are guarded; they stay the caller's
     */
    public AcquireOptions claiming(String resource, Channel... guards) {
        return claimingAt(Arguments.text("resource", resource, 1, RESOURCE_BYTES_MAX), guards);
    }

    private AcquireOptions claimingAt(String resource, Channel... guards) {
        Stream<Claim> more = Arrays.stream(guards).map(guard -> new Claim(resource, guard));
        List<Claim> all = Stream.concat(claims.stream(), more).toList();
        return new AcquireOptions(mode, wait, ttl, lockDelay, lockAtLeastFor, purpose, all, interruptOnLoss);
    }

    /**
     * Whether {@link PalisadeClient#callLocked} and {@code runLocked} interrupt the working thread when the lease is
     * lost. Default: true. A guard refuses the calls of a holder that has lost its lease, so its work is wasted. A blocked
     * thread checks no flag; only an interrupt reaches it. Turn this off for work that an interrupt would damage, such as
     * writing through a {@link java.nio.channels.FileChannel}, which an interrupt closes. Check {@link Lease#isValid()}
     * then. Other ways of acquiring ignore this option.
     */
    public AcquireOptions interruptOnLoss(boolean interrupt) {
        return new AcquireOptions(mode, wait, ttl, lockDelay, lockAtLeastFor, purpose, claims, interrupt);
    }

    List<Claim> claims() {
        return claims;
    }

    boolean interruptsOnLoss() {
        return interruptOnLoss;
    }

    /** How to hold the lock. */
    public Mode mode() {
        return mode;
    }

    /** How long to stay in the queue; zero is a try, a hundred years are without limit. */
    public Duration waitTime() {
        return wait;
    }

    /** The ttl, up to 5 min; zero is the client's, else the server's default. */
    public Duration ttl() {
        return ttl;
    }

    /** The lock-delay, up to 60 s. */
    public Duration lockDelay() {
        return lockDelay;
    }

    /** The minimum hold time, up to 1 h; zero for none. */
    public Duration lockAtLeastFor() {
        return lockAtLeastFor;
    }

    /** Why the lock is taken; may be empty. */
    public String purpose() {
        return purpose;
    }

    static Duration checkedTtl(Duration ttl) {
        if (ttl.isNegative() || ttl.compareTo(TTL_MAX) > 0) {
            throw new IllegalArgumentException("ttl is " + ttl + "; use up to 5 min, zero for the default");
        }
        return ttl;
    }

    @Override
    public String toString() {
        return mode + " wait=" + wait + " ttl=" + ttl + " lockDelay=" + lockDelay
                + (lockAtLeastFor.isZero() ? "" : " lockAtLeastFor=" + lockAtLeastFor) + " purpose=" + purpose
                + (claims.isEmpty() ? "" : " claims=" + claims.size());
    }
}
