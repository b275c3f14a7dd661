package dev.palisade.guard.rules.seeded.guard;

import dev.palisade.guard.Fence;

/** A seeded violation: the guard in front of a service that knows the fence. */
record KnowsFence(Fence fence) {}
