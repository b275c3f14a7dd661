package dev.palisade.replicas;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.guard.Access;
import dev.palisade.guard.Admission;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcConnectionPool;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A guard whose marks in a database are taken over while a call of its own runs. */
@Execution(ExecutionMode.CONCURRENT)
class ReplacedGuardIT {
    private static final SequencerKeys KEYS = SequencerKeys.generate();
    private static final Duration DELTA = Duration.ofSeconds(2);

    @Test
    void runningCallIsStoppedBeforeTheSuccessorAdmitsAnother() throws Exception {
        JdbcConnectionPool database = JdbcConnectionPool.create("jdbc:h2:mem:replaced;DB_CLOSE_DELAY=-1", "sa", "");
        MarkStore.createTables(database);
        MarkStore.createNeverUsed(database);
        List<String> events = new CopyOnWriteArrayList<>();
        Guard old = guard(database);
        Admission running = old.enter(signed(33), Access.WRITE, Binding.of("orders/42"));
        CompletableFuture<Void> stopped = new CompletableFuture<>();
        running.onSuperseded(() -> {
            events.add("33 is stopped");
            stopped.complete(null);
        });
        Guard fresh = guard(database);
        fresh.enter(signed(65), Access.WRITE, Binding.of("orders/42")).close();
        events.add("65 was in");
        stopped.get(60, TimeUnit.SECONDS);
        assertThat(events).containsExactly("33 is stopped", "65 was in");
        assertThat(old.isServing()).isFalse();
        assertThat(old.refusal())
                .hasValueSatisfying(why -> assertThat(why.message()).contains("now owns these marks"));
        running.close();
        old.close();
        fresh.close();
        database.dispose();
    }

    private static Guard guard(DataSource database) {
        return Guard.builder(KEYS.verifier("palisade"), MarkStore.jdbc(database))
                .unknownOutcomeTimeout(DELTA)
                .maxWait(Duration.ofMinutes(1))
                .build();
    }

    private static SignedSequencer signed(long token) {
        return KEYS.sign(new Sequencer(
                "palisade",
                new LockName("orders/42"),
                Mode.EXCLUSIVE,
                new FencingToken(token),
                new GrantId(1, token),
                0));
    }
}
