package dev.palisade.check;

/** Pair of conflicting grants: the earlier one, and the later one that is at fault. */
public record Pair(Granted earlier, Granted later) {}
