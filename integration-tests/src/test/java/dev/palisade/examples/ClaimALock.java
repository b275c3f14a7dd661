package dev.palisade.examples;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.PalisadeClient;
import io.grpc.Channel;
import java.time.Duration;

/** A lock that counts as taken when its guard says so too. */
final class ClaimALock {
    private ClaimALock() {}

    /** @param service to the guarded service, which has a {@code GuardService} */
    static AcquireResult run(PalisadeClient palisade, Channel service) throws InterruptedException {
        // snippet
        AcquireOptions claimed = AcquireOptions.waiting(Duration.ofSeconds(5)).claiming(service);
        AcquireResult result = palisade.tryAcquire("orders/42", claimed);
        // end
        return result;
    }
}
