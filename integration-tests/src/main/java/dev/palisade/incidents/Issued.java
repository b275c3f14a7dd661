package dev.palisade.incidents;

import dev.palisade.check.Granted;

/**
 * A token that was issued and answered.
 *
 * @param granted to whom and when; its lock is the counter that the token is from
 * @param lock what was taken
 * @param node which server of the store was asked; empty: not known
 * @param epoch the era of that node: an epoch, or several that follow each other; empty: not known
 * @param incident the number of the incident in whose time it was taken
 */
record Issued(Granted granted, String lock, String node, String epoch, int incident) {
    long token() {
        return granted.token();
    }
}
