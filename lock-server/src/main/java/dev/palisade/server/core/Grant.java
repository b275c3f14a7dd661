package dev.palisade.server.core;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.Mode;

/**
 * A lease that is held.
 *
 * @param token never changes
 * @param expiresAtMillis when it ends unless renewed
 */
public record Grant(Request request, FencingToken token, long grantedAtMillis, long expiresAtMillis) {
    public GrantId id() {
        return request.grant();
    }

    public Mode mode() {
        return request.mode();
    }

    /** When its minimum hold time ends; 0 when it has none, as every SHARED one. */
    long minimumHoldUntilMillis() {
        return mode() == Mode.SHARED || request.lockAtLeastForMillis() == 0
                ? 0
                : grantedAtMillis + request.lockAtLeastForMillis();
    }

    Grant withExpiresAt(long millis) {
        return new Grant(request, token, grantedAtMillis, millis);
    }

    Grant withRequest(Request changed) {
        return new Grant(changed, token, grantedAtMillis, expiresAtMillis);
    }
}
