package dev.palisade.guard.rules.seeded.core;

/** A seeded violation: pure code that measures time. */
final class MeasuresTime {
    long now() {
        return System.nanoTime();
    }
}
