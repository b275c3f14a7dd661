package dev.palisade.seeded.ownership;

/** Seeded violation. */
public final class KnowsThread {
    static String name() {
        return Thread.currentThread().getName();
    }
}
