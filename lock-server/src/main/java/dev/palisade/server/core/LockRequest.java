package dev.palisade.server.core;

import dev.palisade.contract.LockName;
import dev.palisade.contract.RequestId;

/** The identity of an acquire: a request id counts per lock, so the same id for another lock is another request. */
public record LockRequest(LockName lock, RequestId id) {}
