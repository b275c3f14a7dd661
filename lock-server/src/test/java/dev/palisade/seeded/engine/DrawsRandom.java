package dev.palisade.seeded.engine;

import java.security.SecureRandom;

/** Seeded violation. */
public final class DrawsRandom {
    static int draw(SecureRandom random) {
        return random.nextInt();
    }
}
