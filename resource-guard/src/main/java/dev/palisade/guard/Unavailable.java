package dev.palisade.guard;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import org.jspecify.annotations.Nullable;

/** How the stores say that marks cannot be read or kept: MARK_UNAVAILABLE, one line. */
final class Unavailable {
    private Unavailable() {}

    static RejectedException because(String message) {
        return because(message, null);
    }

    static RejectedException because(String message, @Nullable Throwable cause) {
        RejectedException rejected = new Rejection(Reason.MARK_UNAVAILABLE, message).asException();
        if (cause != null) {
            rejected.initCause(cause);
        }
        return rejected;
    }

    /** The first line of what {@code failure} says, with its kind if it says little. */
    static String oneLine(Throwable failure) {
        String line = String.valueOf(failure.getMessage()).lines().findFirst().orElse("no message");
        return failure.getClass().getSimpleName() + ": " + line;
    }
}
