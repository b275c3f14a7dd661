package dev.palisade.incidents;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * One server of the store under test, with its process and its incarnation. Only the run's thread acts on it; other
 * threads may read.
 */
abstract class Node implements AutoCloseable {
    private final String name;
    private final AtomicInteger incarnation = new AtomicInteger();

    Node(String name) {
        this.name = name;
    }

    String name() {
        return name;
    }

    /** HOST:PORT, the same over all restarts. */
    abstract String address();

    abstract boolean isAlive();

    /** SIGKILL, and returns when the process is gone. */
    abstract void kill9();

    /** The incarnation of this node; a restart or a promotion begins a new one. */
    String incarnation() {
        return name + "/" + incarnation.get();
    }

    void nextIncarnation() {
        incarnation.incrementAndGet();
    }

    @Override
    public abstract void close();

    @Override
    public String toString() {
        return name;
    }
}
