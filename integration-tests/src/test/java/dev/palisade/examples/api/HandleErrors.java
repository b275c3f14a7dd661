package dev.palisade.examples.api;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.LeaseLostException;
import dev.palisade.contract.LockNotAcquiredException;
import dev.palisade.contract.PalisadeException;
import java.time.Duration;

final class HandleErrors {
    private HandleErrors() {}

    static String run(PalisadeClient palisade, Runnable work) throws InterruptedException {
        // snippet
        try {
            palisade.runLocked("invoices", AcquireOptions.waiting(Duration.ofSeconds(5)), lease -> work.run());
            return "done";
        } catch (LockNotAcquiredException e) {
            return "skipped: " + e.getMessage(); // another instance is at work
        } catch (LeaseLostException e) {
            return "redo: " + e.reason(); // the work ran and may be unprotected
        } catch (PalisadeException e) {
            return "not begun: " + e.getMessage(); // no server answered, or it refused
        }
        // end
    }
}
