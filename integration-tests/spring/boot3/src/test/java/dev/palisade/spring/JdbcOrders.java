package dev.palisade.spring;

import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

@Service
class JdbcOrders {
    private final TransactionGuard guard;
    private final JdbcTemplate jdbc;

    JdbcOrders(TransactionGuard guard, JdbcTemplate jdbc) {
        this.guard = guard;
        this.jdbc = jdbc;
    }

    // snippet
    @Transactional
    public void add(SignedSequencer sequencer, long order, int amount) {
        guard.check(sequencer, Binding.of("orders/" + order), Access.WRITE);
        jdbc.update("UPDATE orders SET amount = amount + ? WHERE id = ?", amount, order);
    }
    // end
}
