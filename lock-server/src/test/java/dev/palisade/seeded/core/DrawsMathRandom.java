package dev.palisade.seeded.core;

/** Seeded violation. */
public final class DrawsMathRandom {
    static double draw() {
        return Math.random();
    }
}
