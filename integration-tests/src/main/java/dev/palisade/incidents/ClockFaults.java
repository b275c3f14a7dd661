package dev.palisade.incidents;

import java.time.Duration;

/** Incidents in which the wall clock of a Redis is wrong. */
final class ClockFaults {
    private static final Duration HOUR = Duration.ofHours(1);

    private ClockFaults() {}

    static void forward(FaultContext<RedisNode> context) {
        step(context.primary(), HOUR, context);
        context.tokens(10);
        anotherEpoch(context);
    }

    static void back(FaultContext<RedisNode> context) {
        step(context.primary(), HOUR.negated(), context);
        context.tokens(10);
        anotherEpoch(context);
    }

    /**
     * An epoch begins while the clock is ahead; then the clock is corrected, and a replica with all data is promoted.
     */
    static void aheadThenPromoted(FaultContext<RedisNode> context) {
        ahead(context);
        RedisNode next = context.replica();
        context.topology().awaitCaughtUp(next);
        context.failOver(next, context.dice().nextBoolean());
        context.tokensAt(next, 10);
    }

    /** All data and all memory of tokens are lost while tokens are ahead of the clock. Not fixable within one Redis. */
    static void aheadThenAllLost(FaultContext<RedisNode> context) {
        ahead(context);
        RedisNode primary = context.primary();
        context.note("kill -9 of " + primary + ", which keeps nothing");
        context.restartApps(true, () -> {
            primary.process().kill9();
            primary.deleteSnapshot();
            primary.restart();
        });
    }

    private static void ahead(FaultContext<RedisNode> context) {
        step(context.primary(), HOUR, context);
        anotherEpoch(context);
        step(context.primary(), Duration.ZERO, context);
        context.tokens(10);
    }

    private static void anotherEpoch(FaultContext<RedisNode> context) {
        context.note("the libraries are loaded again");
        DataLossFaults.replaceLibraries(context.primary());
        context.tokens(10);
    }

    private static void step(RedisNode node, Duration ahead, FaultContext<RedisNode> context) {
        context.note("the clock of " + node + " is " + ahead + " from the machine's");
        node.clock().orElseThrow().step(ahead);
    }
}
