package dev.palisade.incidents;

/**
 * Numbers of grants by result of the token check. {@code state.json} has these field names.
 *
 * @param grants issued tokens that reached a client
 * @param unknown attempts without a reply
 * @param duplicates tokens of another grant too (P1)
 * @param regressions a token not above one answered before it was asked for: in its epoch (P2), or both by the primary
 *     of the time (P4)
 * @param interleaved a token among those of another epoch (P3)
 * @param aboveNewer a deposed primary's token that is not below its successor's (P4)
 * @param bornStale tokens issued by a deposed primary, which are no fault
 * @param leftOver faults excluded from the guarantees, counted only here
 */
record Counts(
        long grants,
        long unknown,
        long duplicates,
        long regressions,
        long interleaved,
        long aboveNewer,
        long bornStale,
        long leftOver) {
    static final Counts NONE = new Counts(0, 0, 0, 0, 0, 0, 0, 0);

    Counts plus(Counts other) {
        return new Counts(
                grants + other.grants,
                unknown + other.unknown,
                duplicates + other.duplicates,
                regressions + other.regressions,
                interleaved + other.interleaved,
                aboveNewer + other.aboveNewer,
                bornStale + other.bornStale,
                leftOver + other.leftOver);
    }

    /** The number of faults. */
    long violations() {
        return duplicates + regressions + interleaved + aboveNewer;
    }

    /** The same counts with every fault excluded from the guarantees. */
    Counts excluded() {
        return new Counts(grants, unknown, 0, 0, 0, 0, bornStale, leftOver + violations());
    }
}
