package dev.palisade.incidents;

import dev.palisade.check.Granted;

/**
 * Issued token that reached its client.
 *
 * @param granted client and times; its lock is the counter of the token
 * @param lock that was taken
 * @param node of the store; empty: unknown
 * @param epoch incarnation of that node, which has one epoch or several successive ones; empty: unknown
 * @param incident number of the current incident
 */
record IssuedToken(Granted granted, String lock, String node, String epoch, int incident) {
    long token() {
        return granted.token();
    }
}
