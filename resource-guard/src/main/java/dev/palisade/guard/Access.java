package dev.palisade.guard;

import dev.palisade.contract.Mode;

/** What a call does with a resource. A call without a marking is a WRITE (protocol, the guard). */
public enum Access {
    /** Changes nothing. Raises the mark all the same: what was read must stay true until the reader is superseded. */
    READ,
    /** May change something: only for EXCLUSIVE grants. */
    WRITE;

    /** Whether a grant of {@code mode} may do this. */
    boolean isOpenTo(Mode mode) {
        return this == READ || mode == Mode.EXCLUSIVE;
    }
}
