package dev.palisade.seeded.core;

/** Seeded violation. */
public final class ReadsWallClock {
    static long read() {
        return System.currentTimeMillis();
    }
}
