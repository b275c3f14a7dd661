package dev.palisade.guard.rules.seeded.door;

import dev.palisade.guard.Fence;

/** A seeded violation. */
record KnowsTheFence(Fence fence) {}
