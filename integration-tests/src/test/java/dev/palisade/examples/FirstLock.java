package dev.palisade.examples;

// snippet
import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import java.time.Duration;

public class FirstLock {
    public static void main(String[] args) throws InterruptedException {
        try (PalisadeClient palisade = PalisadeClient.connect("127.0.0.1:7600")) {
            AcquireOptions oneMinute = AcquireOptions.waiting(Duration.ofMinutes(1));
            AcquireResult result = palisade.tryAcquire("reports/daily", oneMinute);
            if (result instanceof AcquireResult.Granted granted) {
                try (Lease lease = granted.lease()) {
                    lease.onLost(why -> System.err.println("stop working: " + why));
                    System.out.println("holding " + lease.lock() + " with token " + lease.token());
                    Thread.sleep(30_000); // your work
                }
            } else if (result instanceof AcquireResult.Unavailable unavailable) {
                System.err.println(unavailable.rejection().message());
            } else {
                System.out.println("somebody else is at it: " + result);
            }
        }
    }
}
// end
