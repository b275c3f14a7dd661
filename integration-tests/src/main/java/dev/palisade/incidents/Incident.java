package dev.palisade.incidents;

/** One kind of failure of the store under test, with the method that injects it: a constant of an enum. */
interface Incident<N extends Node> {
    /** That of the enum's constant. */
    String name();

    /** Returns when it has happened; what it harmed may still be harmed. */
    void happen(Scene<N> scene);

    /** Whether it needs a clock or a disk that is preloaded. */
    default boolean needsPreload() {
        return false;
    }

    /** Whether the rule does not promise anything for it: what is broken then is counted apart. */
    default boolean leftOver() {
        return false;
    }
}
