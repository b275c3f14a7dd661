package dev.palisade.examples.api;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AdvisoryLock;
import dev.palisade.client.PalisadeClient;

final class OldCode {
    private OldCode() {}

    static void run(PalisadeClient palisade, Runnable work) throws InterruptedException {
        // snippet
        AdvisoryLock lock =
                palisade.advisoryLock("invoices", AcquireOptions.trying().purpose("import"));
        lock.lockInterruptibly();
        try {
            work.run();
        } finally {
            lock.unlock(); // throws LeaseLostException when the lease was lost meanwhile
        }
        // end
    }
}
