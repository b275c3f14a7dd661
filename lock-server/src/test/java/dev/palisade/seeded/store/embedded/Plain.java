package dev.palisade.seeded.store.embedded;

/** Seeded violation. */
public final class Plain {
    public void use() {}
}
