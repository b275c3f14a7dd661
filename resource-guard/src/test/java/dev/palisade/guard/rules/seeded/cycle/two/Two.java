package dev.palisade.guard.rules.seeded.cycle.two;

import dev.palisade.guard.rules.seeded.cycle.one.One;
import org.jspecify.annotations.Nullable;

/** A seeded violation: the other half. */
public record Two(@Nullable One one) {}
