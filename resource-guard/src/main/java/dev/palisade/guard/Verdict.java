package dev.palisade.guard;

import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import java.util.Map;

/** What {@link Mark#judge} says of one call. */
sealed interface Verdict {
    /**
     * The call may go on once {@code next} is the resource's mark.
     *
     * @param next the mark that admits it; never lower than the one it was judged by
     * @param raised whether {@code next} differs from the mark it was judged by
     */
    record Admitted(Mark next, boolean raised) implements Verdict {}

    /**
     * The call must not touch the resource; the mark stays as it is.
     *
     * @param rejection why, with {@link Rejection#APPLIED} {@code no}
     */
    record Refused(Rejection rejection) implements Verdict {}

    /** The metadata of every refusal by a guard, beside its reason. */
    static Map<String, String> metadata(String resource, Sequencer sequencer) {
        return Map.of(
                Rejection.PRESENTED_TOKEN,
                sequencer.token().toString(),
                Rejection.RESOURCE,
                resource,
                Rejection.LOCK,
                sequencer.lock().value(),
                Rejection.APPLIED,
                "no");
    }
}
