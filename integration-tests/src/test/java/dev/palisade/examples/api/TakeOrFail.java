package dev.palisade.examples.api;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import java.time.Duration;

final class TakeOrFail {
    private TakeOrFail() {}

    static void run(PalisadeClient palisade) throws InterruptedException {
        // snippet
        AcquireOptions options = AcquireOptions.waiting(Duration.ofSeconds(5))
                .ttl(Duration.ofSeconds(10))
                .purpose("nightly invoice run");
        try (Lease lease = palisade.acquire("invoices", options)) {
            System.out.println("fencing token " + lease.token());
        }
        // end
    }
}
