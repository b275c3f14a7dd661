package dev.palisade.client;

import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Texts;
import io.grpc.Channel;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * How to acquire: immutable, each wither returns a changed copy. Starts from {@link #defaults()}: EXCLUSIVE, a try, the
 * client's ttl, no lock-delay, no purpose, no claims, an interrupt on loss. Withers throw {@link RejectedException} (MALFORMED_REQUEST) on a value that can
 * never be right; the server may have narrower limits.
 */
public final class AcquireOptions {
    private static final AcquireOptions DEFAULTS =
            new AcquireOptions(Mode.EXCLUSIVE, Duration.ZERO, Duration.ZERO, Duration.ZERO, "", List.of(), true);
    private static final Duration TTL_MAX = Duration.ofMinutes(5);
    private static final Duration LOCK_DELAY_MAX = Duration.ofSeconds(60);
    private static final int PURPOSE_BYTES_MAX = 256;
    private static final int RESOURCE_BYTES_MAX = 512;

    /** Longer waits are endless. A sum of nanoseconds with it does not overflow. */
    static final Duration WAIT_ENDLESS = Duration.ofDays(36_500);

    private final Mode mode;
    private final Duration wait;
    private final Duration ttl;
    private final Duration lockDelay;
    private final String purpose;
    private final List<Claim> claims;
    private final boolean interruptOnLoss;

    private AcquireOptions(
            Mode mode,
            Duration wait,
            Duration ttl,
            Duration lockDelay,
            String purpose,
            List<Claim> claims,
            boolean interruptOnLoss) {
        this.mode = mode;
        this.wait = wait;
        this.ttl = ttl;
        this.lockDelay = lockDelay;
        this.purpose = purpose;
        this.claims = claims;
        this.interruptOnLoss = interruptOnLoss;
    }

    /** EXCLUSIVE, a try, everything else left to the client and the server. */
    public static AcquireOptions defaults() {
        return DEFAULTS;
    }

    /** How to hold the lock. */
    public AcquireOptions mode(Mode newMode) {
        return new AcquireOptions(newMode, wait, ttl, lockDelay, purpose, claims, interruptOnLoss);
    }

    /** How long to stay in the queue; zero tries once. More than a hundred years is endless. */
    public AcquireOptions wait(Duration newWait) {
        if (newWait.isNegative()) {
            throw RejectedException.malformed("wait is " + newWait + "; use zero for a try, or a longer one");
        }
        Duration capped = newWait.compareTo(WAIT_ENDLESS) > 0 ? WAIT_ENDLESS : newWait;
        return new AcquireOptions(mode, capped, ttl, lockDelay, purpose, claims, interruptOnLoss);
    }

    /** How long the lease outlives the last keep-alive: 1 s to 5 min, zero takes the client's, else the server's default. */
    public AcquireOptions ttl(Duration newTtl) {
        return new AcquireOptions(mode, wait, checkedTtl(newTtl), lockDelay, purpose, claims, interruptOnLoss);
    }

    /**
     * How long the lock stays closed after this lease expires or is abandoned, not after a release: 0 to 60 s. With a lock-delay, an
     * acquire that had to wait takes one round trip more: the server does not count an offer as a lease until it is accepted.
     */
    public AcquireOptions lockDelay(Duration newLockDelay) {
        if (newLockDelay.isNegative() || newLockDelay.compareTo(LOCK_DELAY_MAX) > 0) {
            throw RejectedException.malformed("lock-delay is " + newLockDelay + "; use 0 to 60 s");
        }
        return new AcquireOptions(mode, wait, ttl, newLockDelay, purpose, claims, interruptOnLoss);
    }

    /** Why the lock is taken, for people: at most 256 bytes of UTF-8. */
    public AcquireOptions purpose(String newPurpose) {
        String checked = Texts.checked("purpose", newPurpose, 0, PURPOSE_BYTES_MAX);
        return new AcquireOptions(mode, wait, ttl, lockDelay, checked, claims, interruptOnLoss);
    }

    /**
     * Has the lock claimed at these guards, besides those named before, for the resource that is called like it. See {@link
     * #claiming(String, Channel...)}.
     */
    public AcquireOptions claiming(Channel... guards) {
        return claimingAt("", guards);
    }

    /**
     * Counts the lock as granted only when each of these guards, besides those named before, has claimed {@code resource} for it:
     * from then on no call of an earlier holder is applied there. The guards are asked at once, for at most the wait that is
     * left (a try: the client's call timeout), and the lease is kept alive meanwhile. If one refuses or cannot be reached, or the lease
     * is lost, the lock is released and the acquire fails with that reason.
     *
     * @param resource 1 to 512 bytes of UTF-8, bound to this lock by the guard
     * @param guards channels to the services that are guarded; they stay the caller's
     */
    public AcquireOptions claiming(String resource, Channel... guards) {
        return claimingAt(Texts.checked("resource", resource, 1, RESOURCE_BYTES_MAX), guards);
    }

    private AcquireOptions claimingAt(String resource, Channel... guards) {
        Stream<Claim> more = Arrays.stream(guards).map(guard -> new Claim(resource, guard));
        List<Claim> all = Stream.concat(claims.stream(), more).toList();
        return new AcquireOptions(mode, wait, ttl, lockDelay, purpose, all, interruptOnLoss);
    }

    /**
     * Whether {@link PalisadeClient#callLocked} and {@code runLocked} interrupt the working thread when the lease is lost. Default: true.
     * A holder that has lost its lease does work that nobody wants and that its guard refuses, and a thread that is blocked looks at no
     * flag: the interrupt is what reaches it. Turn it off for work that an interrupt would damage, such as
     * writing through a {@link java.nio.channels.FileChannel}, which it closes, and look at {@link Lease#isValid()} in its place.
     * Other ways of acquiring take no notice of it.
     */
    public AcquireOptions interruptOnLoss(boolean interrupt) {
        return new AcquireOptions(mode, wait, ttl, lockDelay, purpose, claims, interrupt);
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

    /** The wait; zero is a try. Not called {@code wait}, which every Java object has already. */
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

    /** Why the lock is taken; may be empty. */
    public String purpose() {
        return purpose;
    }

    static Duration checkedTtl(Duration ttl) {
        if (ttl.isNegative() || ttl.compareTo(TTL_MAX) > 0) {
            throw RejectedException.malformed("ttl is " + ttl + "; use up to 5 min, zero for the default");
        }
        return ttl;
    }

    @Override
    public String toString() {
        return mode + " wait=" + wait + " ttl=" + ttl + " lockDelay=" + lockDelay + " purpose=" + purpose
                + (claims.isEmpty() ? "" : " claims=" + claims.size());
    }
}
