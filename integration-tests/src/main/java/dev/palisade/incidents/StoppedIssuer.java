package dev.palisade.incidents;

/** Null object for the token issuer of an application that is down. It issues no tokens. */
final class StoppedIssuer implements TokenIssuer {
    @Override
    public AttemptOutcome acquire(String lock, String owner) {
        return AttemptOutcome.HELD;
    }

    @Override
    public void release(String lock, String owner) {
        // Nothing was taken.
    }

    @Override
    public void follow(Node primary) {
        // A new issuer follows the primary of its start.
    }

    @Override
    public String counter(String lock) {
        return lock;
    }

    @Override
    public void close() {
        // Nothing is open.
    }
}
