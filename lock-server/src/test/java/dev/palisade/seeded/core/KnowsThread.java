package dev.palisade.seeded.core;

/** Seeded violation. */
public final class KnowsThread {
    static String name() {
        return Thread.currentThread().getName();
    }
}
