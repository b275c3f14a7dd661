package dev.palisade.spring;

import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import jakarta.persistence.EntityManager;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

@Service
class JpaOrders {
    private final TransactionGuard guard;
    private final EntityManager entities;

    JpaOrders(TransactionGuard guard, EntityManager entities) {
        this.guard = guard;
        this.entities = entities;
    }

    // snippet
    @Transactional
    public void add(SignedSequencer sequencer, long id, int amount) {
        guard.check(sequencer, Binding.of("orders/" + id), Access.WRITE);
        Order order = entities.find(Order.class, id);
        order.setAmount(order.amount() + amount);
    }
    // end
}
