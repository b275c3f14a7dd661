package dev.palisade.server.core;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.RequestId;

/**
 * The recorded end of a request, so that a delayed duplicate gets this end and not a new grant.
 *
 * @param token 0 when it never had one
 * @param detail who ended it and why, when a person did; else empty
 */
public record Tombstone(RequestId request, GrantId grant, long token, End end, long endedAtMillis, String detail) {
    Tombstone(RequestId request, GrantId grant, long token, End end, long endedAtMillis) {
        this(request, grant, token, end, endedAtMillis, "");
    }
}
