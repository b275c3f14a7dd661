package dev.palisade.seeded.core;

/** Seeded violation. */
public final class Plain {
    public void use() {}
}
