package dev.palisade.spring;

import dev.palisade.contract.SignedSequencer;
import org.springframework.dao.ConcurrencyFailureException;
import org.springframework.stereotype.Service;

@Service
class RetriedOrders {
    private final JdbcOrders orders;

    RetriedOrders(JdbcOrders orders) {
        this.orders = orders;
    }

    // snippet
    void add(SignedSequencer sequencer, long order, int amount) {
        for (int run = 1; ; run++) {
            try {
                orders.add(sequencer, order, amount); // a transaction of its own each time
                return;
            } catch (ConcurrencyFailureException e) { // rolled back by the database: not applied
                if (run == 5) {
                    throw e;
                }
            }
        }
    }
    // end
}
