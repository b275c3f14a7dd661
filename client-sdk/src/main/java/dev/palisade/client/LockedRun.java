package dev.palisade.client;

import dev.palisade.contract.LeaseLostException;
import dev.palisade.contract.LostReason;
import org.jspecify.annotations.Nullable;

/**
 * A run of one piece of work under one lease. If wanted, the loss of the lease interrupts the work, and never what
 * follows it. After the work, the local clock and the server decide whether the lease covered all of it.
 */
final class LockedRun {
    private final LeaseHandle lease;
    private final Thread worker = Thread.currentThread();
    private boolean working = true;
    /** Whether the loss interrupted the worker, and no other interrupt was pending then. */
    private boolean onlyByLoss;

    LockedRun(LeaseHandle lease, boolean interruptOnLoss) {
        this.lease = lease;
        if (interruptOnLoss) {
            // Runs in the loop, because a slow callback of the user would delay it.
            Registration unused = lease.lease().onLost(lease, Runnable::run, reason -> interrupt());
        }
    }

    <T extends @Nullable Object, E extends Exception> T call(Lease.Work<T, E> work) throws E {
        T result;
        try {
            result = work.under(lease);
        } catch (Throwable failure) {
            // This cleared the flag: if it is set again, another may have done so.
            LostReason lost = end(failure instanceof InterruptedException);
            if (lost != null) {
                failure.addSuppressed(lostBeforeEnd(lost));
            }
            throw failure;
        }
        LostReason lost = end(false);
        if (lost != null) {
            throw lostBeforeEnd(lost);
        }
        return result;
    }

    private LeaseLostException lostBeforeEnd(LostReason reason) {
        return LeaseLostException.beforeWorkEnded(lease.lock(), lease.token(), reason);
    }

    private synchronized void interrupt() {
        if (working) {
            onlyByLoss = !worker.isInterrupted();
            worker.interrupt();
        }
    }

    /**
     * Why the work was not covered to its end; null when it was.
     *
     * @param met whether an interrupt ended the work
     */
    @Nullable
    private LostReason end(boolean met) {
        synchronized (this) {
            working = false;
            if (onlyByLoss && !met) {
                // The interrupt was that of the loss, and the work has ended.
                boolean ignored = Thread.interrupted();
            }
        }
        return lease.end();
    }
}
