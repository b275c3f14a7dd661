package dev.palisade.seeded.engine;

/** Seeded violation. */
public final class Plain {
    public void use() {}
}
