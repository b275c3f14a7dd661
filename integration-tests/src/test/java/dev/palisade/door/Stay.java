package dev.palisade.door;

import dev.palisade.guard.Admission;

/** What a call at this door has while it is with the storage: a guard's admission, or none. */
interface Stay {
    /** For a door that lets everything in. */
    Stay UNGUARDED = new Stay() {
        @Override
        public void close() {
            // Nobody waits for it.
        }

        @Override
        public void outcomeUnknown() {
            // Nobody waits for it.
        }
    };

    /** The call has ended. */
    void close();

    /** Whether the call has ended cannot be told. */
    void outcomeUnknown();

    static Stay of(Admission admission) {
        return new Stay() {
            @Override
            public void close() {
                admission.close();
            }

            @Override
            public void outcomeUnknown() {
                var unused = admission.outcomeUnknown();
            }
        };
    }
}
