package dev.palisade.server.core.explain;

import dev.palisade.contract.LockName;
import java.util.OptionalLong;

/**
 * A guard's report of calls that it refused, equal but for their times. Its texts are the guard's own words. Times are the store's,
 * reckoned back from the report's arrival.
 *
 * @param guard what the guard protects, or its process
 * @param principal of the report; empty without authentication
 * @param reason a word of the list of reasons; a newer guard may have more
 * @param presentedToken that of the refused calls
 * @param markToken the larger token that the guard had seen; 0: it refused for another reason
 * @param markRaisedAtMillis when it first saw that token; empty: not known
 * @param count calls, 1 or more
 */
public record RefusalReport(
        String guard,
        String principal,
        LockName lock,
        String resource,
        String reason,
        long presentedToken,
        long markToken,
        OptionalLong markRaisedAtMillis,
        long firstAtMillis,
        long lastAtMillis,
        long count) {
    /** Whether both say the same but for their times and counts. */
    public boolean isLike(RefusalReport other) {
        return presentedToken == other.presentedToken
                && markToken == other.markToken
                && lock.equals(other.lock)
                && reason.equals(other.reason)
                && resource.equals(other.resource)
                && guard.equals(other.guard)
                && principal.equals(other.principal);
    }

    /** Both as one report. */
    public RefusalReport and(RefusalReport other) {
        return new RefusalReport(
                guard,
                principal,
                lock,
                resource,
                reason,
                presentedToken,
                markToken,
                markRaisedAtMillis.isPresent() ? markRaisedAtMillis : other.markRaisedAtMillis,
                Math.min(firstAtMillis, other.firstAtMillis),
                Math.max(lastAtMillis, other.lastAtMillis),
                count + other.count < 0 ? Long.MAX_VALUE : count + other.count);
    }
}
