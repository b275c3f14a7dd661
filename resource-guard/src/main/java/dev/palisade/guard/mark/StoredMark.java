package dev.palisade.guard.mark;

import dev.palisade.contract.LockName;
import dev.palisade.guard.core.Mark;

/**
 * One resource's mark as it is kept.
 *
 * @param resource the key: 1 to {@link dev.palisade.guard.core.Binding#RESOURCE_BYTES_MAX} bytes
 * @param issuer whose tokens these are; tokens of different issuers or locks have no order
 * @param lock the lock that the resource was bound to
 * @param mark the mark; never lower than the one kept before, unless issuer or lock changed
 * @param raisedAtMillis when, milliseconds since 1970; for people, never compared
 */
public record StoredMark(String resource, String issuer, LockName lock, Mark mark, long raisedAtMillis) {}
