package dev.palisade.examples;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import java.time.Duration;

/** The first guide's snippet. */
final class FirstLock {
    private FirstLock() {}

    static void run() {
        // snippet
        try (PalisadeClient palisade = PalisadeClient.connect("127.0.0.1:7600")) {
            AcquireResult result = palisade.tryAcquire(
                    "reports/daily",
                    AcquireOptions.defaults().wait(Duration.ofSeconds(5)).purpose("daily report"));
            if (result instanceof AcquireResult.Granted granted) {
                try (Lease lease = granted.lease()) {
                    lease.onLost(why -> System.err.println("stop working: " + why));
                    System.out.println("holding " + lease.lock() + " with token " + lease.token());
                }
            } else {
                System.out.println("somebody else is at it: " + result);
            }
        }
        // end
    }
}
