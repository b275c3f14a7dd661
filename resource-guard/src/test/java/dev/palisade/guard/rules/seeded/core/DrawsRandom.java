package dev.palisade.guard.rules.seeded.core;

import java.util.Random;
import java.util.UUID;

/** A seeded violation: pure code whose answer differs from run to run. */
final class DrawsRandom {
    String name(Random random) {
        return UUID.randomUUID() + "-" + random.nextInt();
    }
}
