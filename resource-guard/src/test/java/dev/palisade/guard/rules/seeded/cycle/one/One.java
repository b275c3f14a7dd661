package dev.palisade.guard.rules.seeded.cycle.one;

import dev.palisade.guard.rules.seeded.cycle.two.Two;
import org.jspecify.annotations.Nullable;

/** A seeded violation: half a cycle. */
public record One(@Nullable Two two) {}
