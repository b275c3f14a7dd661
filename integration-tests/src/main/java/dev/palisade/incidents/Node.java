package dev.palisade.incidents;

import java.util.concurrent.atomic.AtomicInteger;

/** One server of the store under test: its process, and which era it is in. The run's own thread acts on it; everybody may ask. */
abstract class Node implements AutoCloseable {
    private final String name;
    private final AtomicInteger era = new AtomicInteger();

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

    /** One process as a primary for one time, as far as can be known from outside: a restart or a promotion begins another. */
    String era() {
        return name + "/" + era.get();
    }

    void nextEra() {
        era.incrementAndGet();
    }

    @Override
    public abstract void close();

    @Override
    public String toString() {
        return name;
    }
}
