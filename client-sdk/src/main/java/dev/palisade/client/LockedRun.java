package dev.palisade.client;

import org.jspecify.annotations.Nullable;

/**
 * One piece of work under one lease: interrupted when the lease is lost, if wanted, and never after the work has ended. Whether the
 * work was covered is asked last, of the local clock and of the server.
 */
final class LockedRun {
    private final LeaseHandle lease;
    private final Thread worker = Thread.currentThread();
    private boolean working = true;
    private boolean interrupted;

    LockedRun(LeaseHandle lease, boolean interruptOnLoss) {
        this.lease = lease;
        if (interruptOnLoss) {
            // Not by way of the callbacks: another callback that takes its time must not hold it up.
            lease.lease().onLost(lease, Runnable::run, reason -> interrupt());
        }
    }

    <T extends @Nullable Object, E extends Exception> T call(Lease.Work<T, E> work) throws E {
        T result;
        try {
            result = work.under(lease);
        } catch (Throwable failure) {
            LostReason lost = end();
            if (lost != null) {
                failure.addSuppressed(new LeaseLostException(lease.lease().grant(), lost, null));
            }
            throw failure;
        }
        LostReason lost = end();
        if (lost != null) {
            throw new LeaseLostException(lease.lease().grant(), lost, result);
        }
        return result;
    }

    private synchronized void interrupt() {
        if (working) {
            interrupted = true;
            worker.interrupt();
        }
    }

    /** Why the work was not covered to its end; null when it was. */
    @Nullable
    private LostReason end() {
        synchronized (this) {
            working = false;
            if (interrupted) {
                // Ours, and its purpose is over; the caller's thread goes on without it.
                boolean ignored = Thread.interrupted();
            }
        }
        return lease.end();
    }
}
