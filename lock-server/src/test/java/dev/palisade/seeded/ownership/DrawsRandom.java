package dev.palisade.seeded.ownership;

import java.util.Random;

/** Seeded violation. */
public final class DrawsRandom {
    static int draw(Random random) {
        return random.nextInt();
    }
}
