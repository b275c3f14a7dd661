package dev.palisade.examples.api;

import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;

final class TakeOrSkip {
    private TakeOrSkip() {}

    static void run(PalisadeClient palisade) throws InterruptedException {
        // snippet
        AcquireResult result = palisade.tryAcquire("invoices");
        if (result instanceof AcquireResult.Granted granted) {
            try (Lease lease = granted.lease()) {
                System.out.println("fencing token " + lease.token());
            }
        } else if (result instanceof AcquireResult.Busy busy) {
            System.out.println(
                    "skipped: held by " + busy.holder().map(by -> by.owner()).orElse("nobody yet"));
        }
        // end
    }
}
