package dev.palisade.guard.rules.seeded.core;

/** A seeded violation: pure code that asks what time it is. */
final class ReadsTheClock {
    long now() {
        return System.currentTimeMillis();
    }
}
