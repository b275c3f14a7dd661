package dev.palisade.server.core;

import dev.palisade.contract.FencingToken;

/**
 * The lock, promised to a waiter until it accepts or the offer lapses.
 *
 * @param token the token the lease will have
 */
public record Offer(Waiter waiter, FencingToken token, long lapsesAtMillis) {
    public Request request() {
        return waiter.request();
    }

    Offer withWaiter(Waiter changed) {
        return new Offer(changed, token, lapsesAtMillis);
    }

    Offer withLapsesAt(long millis) {
        return new Offer(waiter, token, millis);
    }
}
