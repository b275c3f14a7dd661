package dev.palisade.proxy;

import dev.palisade.guard.Admission;

/** Admission of a forwarded call: a guard's, or none. */
interface ForwardedAdmission {
    /** For a proxy that admits every call. */
    ForwardedAdmission UNGUARDED = new ForwardedAdmission() {
        @Override
        public void close() {
            // No call waits for it.
        }

        @Override
        public void outcomeUnknown() {
            // No call waits for it.
        }
    };

    /** The call has ended. */
    void close();

    /** The end of the call is unknown. */
    void outcomeUnknown();

    static ForwardedAdmission of(Admission admission) {
        return new ForwardedAdmission() {
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
