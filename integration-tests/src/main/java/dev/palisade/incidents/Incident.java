package dev.palisade.incidents;

/** Kind of incident in the store under test, with the method that injects it. The constants of an enum implement it. */
interface Incident<N extends Node> {
    /** The name of the enum constant, which {@code state.json} contains. */
    String name();

    /** Injects the incident; returns before the repair. */
    void inject(FaultContext<N> context);

    /** Whether it needs a clock or a disk that is preloaded. */
    default boolean needsPreload() {
        return false;
    }

    /** Whether the guarantees exclude it. Its faults are counted separately. */
    default boolean isExcluded() {
        return false;
    }
}
