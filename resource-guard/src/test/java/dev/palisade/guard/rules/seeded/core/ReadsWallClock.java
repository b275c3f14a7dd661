package dev.palisade.guard.rules.seeded.core;

/** A seeded violation: pure code that reads the wall clock. */
final class ReadsWallClock {
    long now() {
        return System.currentTimeMillis();
    }
}
