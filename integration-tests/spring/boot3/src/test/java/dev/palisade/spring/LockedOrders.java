package dev.palisade.spring;

import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import java.time.Duration;
import org.springframework.stereotype.Service;

// snippet
@Service
class LockedOrders {
    private final PalisadeClient palisade;
    private final JdbcOrders orders;

    LockedOrders(PalisadeClient palisade, JdbcOrders orders) {
        this.palisade = palisade;
        this.orders = orders;
    }

    // Not @Transactional: the transaction begins and ends within orders.add, while the lock is held.
    void add(long order, int amount) throws InterruptedException {
        try (Lease lease = palisade.acquire("orders/" + order, Duration.ofSeconds(5))) {
            orders.add(lease.sequencer(), order, amount);
        }
    }
}
// end
