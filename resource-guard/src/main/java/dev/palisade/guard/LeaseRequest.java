package dev.palisade.guard;

import dev.palisade.contract.LockName;
import dev.palisade.contract.RequestId;
import java.time.Duration;

/**
 * Request of a guard for one EXCLUSIVE lease of its own.
 *
 * @param id the same for a repetition, another for each new request
 * @param age since the request was first sent; 0 or more
 * @param ttl 1 s to 5 min
 * @param owner the guard's process, for people; at most 256 bytes
 * @param purpose what the lease is for; at most 256 bytes
 */
public record LeaseRequest(LockName lock, RequestId id, Duration age, Duration ttl, String owner, String purpose) {}
