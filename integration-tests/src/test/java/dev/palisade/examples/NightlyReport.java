package dev.palisade.examples;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.LockNotAcquiredException;
import dev.palisade.client.LockUnavailableException;
import dev.palisade.client.PalisadeClient;

/** What the guide tests: a service of a user's own. */
// snippet
final class NightlyReport {
    private final PalisadeClient palisade;
    private final AcquireOptions options;

    NightlyReport(PalisadeClient palisade, AcquireOptions options) {
        this.palisade = palisade;
        this.options = options;
    }

    /** Whether this service has written it; false when another one was at it all the time, or no lock server answered. */
    boolean write(Runnable pages) {
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
