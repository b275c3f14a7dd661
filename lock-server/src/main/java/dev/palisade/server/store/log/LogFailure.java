package dev.palisade.server.store.log;

import dev.palisade.server.ownership.AppendFailure;

/** A log did not acknowledge a claim, a read or a batch. The message is one line. */
public final class LogFailure extends Exception {
    private static final long serialVersionUID = 1L;

    private final AppendFailure kind;

    private LogFailure(AppendFailure kind, String message) {
        super(message);
        this.kind = kind;
    }

    /** No diagnosis: the batch may be stored, or not. */
    public static LogFailure unknown(String message) {
        return new LogFailure(AppendFailure.UNKNOWN, message);
    }

    /** The log refused the batch: nothing of it is stored, and nothing will be. */
    public static LogFailure refused(String message) {
        return new LogFailure(AppendFailure.REFUSED, message);
    }

    public AppendFailure kind() {
        return kind;
    }

    /** One line, never null. */
    public String line() {
        return String.valueOf(getMessage());
    }
}
