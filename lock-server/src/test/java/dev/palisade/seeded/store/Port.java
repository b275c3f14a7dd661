package dev.palisade.seeded.store;

/** Seeded violation. */
public final class Port {
    public void use() {}
}
