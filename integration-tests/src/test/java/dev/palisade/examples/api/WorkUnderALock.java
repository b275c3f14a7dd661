package dev.palisade.examples.api;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.PalisadeClient;

final class WorkUnderALock {
    private WorkUnderALock() {}

    static int run(PalisadeClient palisade) throws InterruptedException {
        // snippet
        int sent = palisade.callLocked("invoices", AcquireOptions.trying(), lease -> {
            return sendInvoices(lease.sequencer()); // interrupted when the lease is lost
        });
        // end
        return sent;
    }

    private static int sendInvoices(dev.palisade.contract.SignedSequencer sequencer) {
        return sequencer.toBytes().length;
    }
}
