package dev.palisade.incidents;

/**
 * What the record of tokens shows, as numbers of grants.
 *
 * @param grants tokens issued and answered
 * @param unknown tries that ended without an answer
 * @param duplicates a token that another grant had (P1)
 * @param regressions a token not above one answered before it was asked for: in its epoch (P2), or both by the primary of the time (P4)
 * @param interleaved a token among those of another epoch (P3)
 * @param aboveNewer a deposed primary's token that is not below its successor's (P4)
 * @param bornStale tokens of a deposed primary, no fault of anybody
 * @param leftOver faults of the four kinds that no rule promises against, counted here alone
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

    /** All that is wrong. */
    long violations() {
        return duplicates + regressions + interleaved + aboveNewer;
    }

    /** What is wrong is left over. */
    Counts excused() {
        return new Counts(grants, unknown, 0, 0, 0, 0, bornStale, leftOver + violations());
    }
}
