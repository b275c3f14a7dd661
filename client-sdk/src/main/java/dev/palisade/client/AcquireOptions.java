package dev.palisade.client;

import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Texts;
import java.time.Duration;

/**
 * How to acquire: immutable, each wither returns a changed copy. Starts from {@link #defaults()}: EXCLUSIVE, a try, the
 * client's ttl, no lock-delay, no purpose. Withers throw {@link RejectedException} (MALFORMED_REQUEST) on a value that can
 * never be right; the server may have narrower limits.
 */
public final class AcquireOptions {
    private static final AcquireOptions DEFAULTS =
            new AcquireOptions(Mode.EXCLUSIVE, Duration.ZERO, Duration.ZERO, Duration.ZERO, "");
    private static final Duration TTL_MAX = Duration.ofMinutes(5);
    private static final Duration LOCK_DELAY_MAX = Duration.ofSeconds(60);
    private static final int PURPOSE_BYTES_MAX = 256;

    /** Longer waits are endless. A sum of nanoseconds with it does not overflow. */
    static final Duration WAIT_ENDLESS = Duration.ofDays(36_500);

    private final Mode mode;
    private final Duration wait;
    private final Duration ttl;
    private final Duration lockDelay;
    private final String purpose;

    private AcquireOptions(Mode mode, Duration wait, Duration ttl, Duration lockDelay, String purpose) {
        this.mode = mode;
        this.wait = wait;
        this.ttl = ttl;
        this.lockDelay = lockDelay;
        this.purpose = purpose;
    }

    /** EXCLUSIVE, a try, everything else left to the client and the server. */
    public static AcquireOptions defaults() {
        return DEFAULTS;
    }

    /** How to hold the lock. */
    public AcquireOptions mode(Mode newMode) {
        return new AcquireOptions(newMode, wait, ttl, lockDelay, purpose);
    }

    /** How long to stay in the queue; zero tries once. More than a hundred years is endless. */
    public AcquireOptions wait(Duration newWait) {
        if (newWait.isNegative()) {
            throw RejectedException.malformed("wait is " + newWait + "; use zero for a try, or a longer one");
        }
        Duration capped = newWait.compareTo(WAIT_ENDLESS) > 0 ? WAIT_ENDLESS : newWait;
        return new AcquireOptions(mode, capped, ttl, lockDelay, purpose);
    }

    /** How long the lease outlives the last keep-alive: 1 s to 5 min, zero takes the client's, else the server's default. */
    public AcquireOptions ttl(Duration newTtl) {
        return new AcquireOptions(mode, wait, checkedTtl(newTtl), lockDelay, purpose);
    }

    /** How long the lock stays closed after this lease expires or is abandoned, not after a release: 0 to 60 s. */
    public AcquireOptions lockDelay(Duration newLockDelay) {
        if (newLockDelay.isNegative() || newLockDelay.compareTo(LOCK_DELAY_MAX) > 0) {
            throw RejectedException.malformed("lock-delay is " + newLockDelay + "; use 0 to 60 s");
        }
        return new AcquireOptions(mode, wait, ttl, newLockDelay, purpose);
    }

    /** Why the lock is taken, for people: at most 256 bytes of UTF-8. */
    public AcquireOptions purpose(String newPurpose) {
        String checked = Texts.checked("purpose", newPurpose, 0, PURPOSE_BYTES_MAX);
        return new AcquireOptions(mode, wait, ttl, lockDelay, checked);
    }

    public Mode mode() {
        return mode;
    }

    /** The wait; zero is a try. Not called {@code wait}, which every Java object has already. */
    public Duration waitTime() {
        return wait;
    }

    public Duration ttl() {
        return ttl;
    }

    public Duration lockDelay() {
        return lockDelay;
    }

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
        return mode + " wait=" + wait + " ttl=" + ttl + " lockDelay=" + lockDelay + " purpose=" + purpose;
    }
}
