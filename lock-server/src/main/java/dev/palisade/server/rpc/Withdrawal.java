package dev.palisade.server.rpc;

import dev.palisade.contract.Rejection;
import dev.palisade.server.core.EndCause;

/**
 * Withdrawal of a caller's right to what it has: the cause of the end of its leases, and what its client is told.
 */
record Withdrawal(EndCause cause, Rejection rejection) {}
