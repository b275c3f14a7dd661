package dev.palisade.seeded.ownership;

/** Seeded violation. */
public final class DrawsMathRandom {
    static double draw() {
        return Math.random();
    }
}
