package dev.palisade.check;

/** Two grants that cannot both be right: the one that came first, and the one that is at fault. */
public record Pair(Granted earlier, Granted later) {}
