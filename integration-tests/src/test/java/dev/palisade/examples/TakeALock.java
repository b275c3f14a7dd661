package dev.palisade.examples;

import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.examples.orders.OrdersGrpc.OrdersBlockingStub;
import dev.palisade.examples.orders.UpdateOrder;
import java.time.Duration;

/** The README's first snippet: {@code orders} is any gRPC stub of a user's own. */
final class TakeALock {
    private TakeALock() {}

    static void run(OrdersBlockingStub orders, UpdateOrder order42) throws InterruptedException {
        // snippet
        try (PalisadeClient palisade = PalisadeClient.connect("127.0.0.1:7600");
                Lease lease = palisade.acquire("orders/42", Duration.ofSeconds(5))) {
            lease.attach(orders).update(order42);
        }
        // end
    }
}
