package dev.palisade.guard.rules.seeded.guard;

import dev.palisade.guard.Fence;

/** A seeded violation. */
record KnowsTheFence(Fence fence) {}
