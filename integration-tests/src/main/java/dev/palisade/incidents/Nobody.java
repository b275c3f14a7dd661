package dev.palisade.incidents;

/** Who issues tokens while an application is down: nobody. */
final class Nobody implements TokenIssuer {
    @Override
    public Answer acquire(String lock, String owner) {
        return Answer.HELD;
    }

    @Override
    public void release(String lock, String owner) {
        // Nothing was taken.
    }

    @Override
    public void follow(Node primary) {
        // Who starts follows the primary of that time.
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
