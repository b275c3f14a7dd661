package dev.palisade.bench;

import java.time.Duration;

/**
 * How much of what is held and remembered.
 *
 * @param ofOneSession leases that one session holds
 * @param sessions how many there are when there are many
 * @param ofManySessions leases that each of those holds
 * @param names that are taken and released
 * @param clients sessions while another lock server takes over; one of them is measured by itself as well
 * @param ofEachClient leases that each of those holds
 * @param settle until a server has forgotten what it remembers of released locks
 * @param connected until clients have a connection to a server that has just started
 */
record Sizes(
        int ofOneSession,
        int sessions,
        int ofManySessions,
        int names,
        int clients,
        int ofEachClient,
        Duration settle,
        Duration connected) {
    /** What the goals are about. */
    static final Sizes FULL =
            new Sizes(10_000, 100, 1_000, 1_000_000, 2_000, 50, Duration.ofSeconds(75), Duration.ofSeconds(8));

    /** Enough to see that all of it works. */
    static final Sizes SMALL = new Sizes(100, 5, 20, 2_000, 1, 1, Duration.ZERO, Duration.ofSeconds(2));
}
