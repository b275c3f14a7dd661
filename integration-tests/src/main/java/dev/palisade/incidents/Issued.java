package dev.palisade.incidents;

import dev.palisade.check.Granted;

/**
 * A token that was issued and answered.
 *
 * @param granted to whom and when; its lock is the counter that the token is from
 * @param lock what was taken
 * @param node which Redis was asked
 * @param epoch the issuer's word, or the node's era where it has none; empty: not known
 * @param incident the number of the incident in whose time it was taken
 */
record Issued(Granted granted, String lock, String node, String epoch, int incident) {
    long token() {
        return granted.token();
    }
}
