package dev.palisade.guard;

import dev.palisade.guard.MarkStore.StoredMark;
import java.util.List;

/** One change that a store makes durable, in the order of the calls. */
sealed interface Change {
    record Put(StoredMark mark) implements Change {}

    record Base(BaseMark base, List<String> dropped) implements Change {
        public Base {
            dropped = List.copyOf(dropped);
        }
    }

    /** Drops every mark and base mark; the store is not complete from then on. */
    record Forget() implements Change {}

    /** See {@link MarkStore#putRegistration}. */
    record Registration(String name, long token) implements Change {}

    /** Which marks these are, see {@link MarkStore#id}. */
    record Identity(String id) implements Change {}

    /** What a store knows of itself, see {@link KeptMarks}. */
    record State(boolean complete, boolean closedInOrder) implements Change {}

    /** Changes nothing and is answered in its turn: the store was still this process's then. */
    record Confirm() implements Change {}
}
