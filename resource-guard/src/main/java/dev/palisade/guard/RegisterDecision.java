package dev.palisade.guard;

import dev.palisade.contract.Mode;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.guard.RegisterDecision.Outcome.Admitted;
import dev.palisade.guard.RegisterDecision.Outcome.Blocked;
import dev.palisade.guard.RegisterDecision.Outcome.Refused;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Decision about the calls of one resource in one atomic step of a shared register (protocol, the guard): compare with the
 * mark, raise it, and register the call unless a conflicting one is registered. Made of what the locked row holds and thrown
 * away with the step: it remembers nothing between two steps, and neither does a guard.
 *
 * <p>Not safe for threads. It knows no clock, no connection, and saves nothing itself.
 */
class RegisterDecision {
    /** What becomes of one call in this step. */
    sealed interface Outcome {
        /** May start when the step is durable. */
        record Admitted(RegisteredCall entry) implements Outcome {}

        /**
         * Waits, and is compared again in a later step. The mark stays raised.
         *
         * @param by a conflicting call; null: nothing may start yet
         */
        record Blocked(@Nullable RegisteredCall by) implements Outcome {}

        /** Told when the step is durable. */
        record Refused(Rejection rejection) implements Outcome {}
    }

    private final String resource;
    private final String guard;
    private final List<RegisteredCall> registered;
    private final boolean closed;
    private Mark mark;
    private long raisedAtMillis;

    /**
     * @param guard the guard whose step it is
     * @param raisedAtMillis when {@code mark} was raised, milliseconds since 1970, for people; 0: not known
     * @param registered all calls of this resource, of every guard
     * @param closed nothing may start: calls that this register does not know may still be running
     */
    RegisterDecision(
            String resource,
            String guard,
            Mark mark,
            long raisedAtMillis,
            List<RegisteredCall> registered,
            boolean closed) {
        this.resource = resource;
        this.guard = guard;
        this.mark = mark;
        this.raisedAtMillis = raisedAtMillis;
        this.registered = new ArrayList<>(registered);
        this.closed = closed;
    }

    /** The mark after this step. */
    Mark mark() {
        return mark;
    }

    /** When {@link #mark()} was raised; 0: not known. */
    long raisedAtMillis() {
        return raisedAtMillis;
    }

    /** @param nowMillis milliseconds since 1970, for people */
    Outcome enter(long number, Sequencer sequencer, Access access, long nowMillis) {
        Verdict verdict = mark.judge(resource, sequencer, access);
        if (verdict instanceof Verdict.Refused refused) {
            return new Refused(dated(refused.rejection()));
        }
        Verdict.Admitted admitted = (Verdict.Admitted) verdict;
        if (admitted.raised()) {
            mark = admitted.next();
            raisedAtMillis = nowMillis;
        }
        RegisteredCall entry = RegisteredCall.running(guard, number, sequencer, access);
        if (closed) {
            return new Blocked(null);
        }
        Optional<RegisteredCall> conflict =
                registered.stream().filter(other -> conflicts(entry, other)).findFirst();
        if (conflict.isPresent()) {
            return new Blocked(conflict.get());
        }
        registered.add(entry);
        return new Admitted(entry);
    }

    /**
     * Whether {@code newcomer} must not run beside {@code other}: they are of two grants, not both SHARED; or {@code other} may
     * still write, and its caller may not know its end. That is so in quarantine, and of each write at another guard: that one
     * may have been killed, or its caller may have lost the connection. The caller reads again, and what it reads has to stay.
     */
    static boolean conflicts(RegisteredCall newcomer, RegisteredCall other) {
        if (other.access() == Access.WRITE
                && (other.quarantined() || !other.guard().equals(newcomer.guard()))) {
            return true;
        }
        boolean bothShared = newcomer.mode() == Mode.SHARED && other.mode() == Mode.SHARED;
        return !bothShared && !newcomer.isOfSameGrant(other);
    }

    private Rejection dated(Rejection why) {
        return raisedAtMillis == 0 ? why : why.with(Rejection.SUPERSEDED_AT_MILLIS, Long.toString(raisedAtMillis));
    }
}
