package dev.palisade.examples.api;

import dev.palisade.client.Lease;
import dev.palisade.client.Registration;
import java.time.Duration;
import java.util.List;

final class UseALease {
    private UseALease() {}

    static void run(Lease lease, List<Runnable> parts) throws InterruptedException {
        // snippet
        Registration lost = lease.onLost(why -> System.err.println("lost: " + why));
        lease.onReleaseRequested(request -> System.err.println(request.by() + " wants it: " + request.why()));
        for (Runnable part : parts) {
            lease.ensureValidFor(Duration.ofSeconds(2)); // else LeaseLostException
            part.run();
        }
        lost.close(); // a loss from here on is not reported
        // end
    }
}
