package dev.palisade.examples;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.LockNotAcquiredException;
import dev.palisade.contract.LockUnavailableException;

/** What the guide tests: a service of a user's own. */
// snippet
final class NightlyReport {
    private final PalisadeClient palisade;
    private final AcquireOptions options;

    NightlyReport(PalisadeClient palisade, AcquireOptions options) {
        this.palisade = palisade;
        this.options = options;
    }

    /** Whether this service wrote the report; false when another one held the lock, or no lock server replied. */
    boolean write(Runnable pages) throws InterruptedException {
        try {
            palisade.runLocked("reports/daily", options, lease -> pages.run());
            return true;
        } catch (LockNotAcquiredException busy) {
            return false;
        } catch (LockUnavailableException unreachable) {
            return false; // nothing was done: the next run tries again
        }
    }
}
// end
