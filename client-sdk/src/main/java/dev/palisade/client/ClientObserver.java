package dev.palisade.client;

import dev.palisade.contract.LockName;

/**
 * An observer of one client's acquires and leases, for metrics and traces: {@link PalisadeClient#observe}. It changes
 * nothing. Its methods, and those of {@link AcquireObserver}, run on the thread that acquires or releases, or on the
 * client's one network thread: they must be brief and must not block. The client logs and ignores what they throw.
 * Implementations must be safe for use by many threads.
 */
@FunctionalInterface
public interface ClientObserver {
    /**
     * An acquire begins. Called on the thread that acquires, before anything is sent.
     *
     * @param options of the acquire, its wait among them
     * @return the observer of this acquire and of its lease
     */
    AcquireObserver acquiring(LockName lock, AcquireOptions options);
}
