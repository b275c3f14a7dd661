package dev.palisade.contract.grpc;

/** A TLS file that cannot be used. The message is one line: which file, why, and what to do; never any of its content. */
public final class TlsUnusable extends Exception {
    private static final long serialVersionUID = 1L;

    TlsUnusable(String message) {
        super(message);
    }

    /** One line for a person. */
    public String message() {
        return String.valueOf(getMessage());
    }
}
