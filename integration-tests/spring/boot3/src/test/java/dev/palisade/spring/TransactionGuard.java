package dev.palisade.spring;

import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Fence;
import dev.palisade.guard.FencedJdbc;
import jakarta.persistence.EntityManager;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Component;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

// snippet
/** Guards the Spring transaction of the calling thread. Call it before anything else in the transaction. */
@Component
class TransactionGuard {
    private final FencedJdbc fenced;
    private final JdbcTemplate jdbc;
    private final EntityManager entities;

    TransactionGuard(FencedJdbc fenced, JdbcTemplate jdbc, EntityManager entities) {
        this.fenced = fenced;
        this.jdbc = jdbc;
        this.entities = entities;
    }

    void check(SignedSequencer sequencer, Binding resource, Access access) {
        Fence fence = jdbc.execute(
                (ConnectionCallback<Fence>) connection -> fenced.check(connection, sequencer, resource, access));
        // Entities that were read before the check may be out of date.
        entities.clear();
        TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
            @Override
            public void beforeCommit(boolean readOnly) {
                if (entities.isJoinedToTransaction()) {
                    entities.flush();
                }
                confirm(fence);
            }
        });
    }

    private void confirm(Fence fence) {
        jdbc.execute((ConnectionCallback<Fence>) connection -> {
            fence.confirm(connection);
            return fence;
        });
    }
}
// end
