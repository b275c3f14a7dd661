package dev.palisade.seeded.ownership;

/** Seeded violation. */
public final class ReadsWallClock {
    static long read() {
        return System.currentTimeMillis();
    }
}
