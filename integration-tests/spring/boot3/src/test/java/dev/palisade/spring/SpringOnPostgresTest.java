package dev.palisade.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Mark;
import dev.palisade.patience.PatientPostgres;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.transaction.support.TransactionTemplate;

/** On a real PostgreSQL, started here; if it cannot start this fails, it is never skipped. */
@NullUnmarked
class SpringOnPostgresTest extends SpringTransactionsContract {
    private EmbeddedPostgres postgres;

    @Override
    String url() throws IOException {
        postgres = PatientPostgres.builder().start();
        return postgres.getJdbcUrl("postgres", "postgres");
    }

    @Override
    String user() {
        return "postgres";
    }

    @AfterAll
    void stopDatabase() throws IOException {
        postgres.close();
    }

    /** PostgreSQL itself refuses writes in such a transaction; with H2 only the pool remembers readOnly. */
    @ParameterizedTest
    @EnumSource
    void readOnlyTransactionIsNamedForWhatItIs(Manager manager) {
        TransactionTemplate transaction = transaction(manager);
        transaction.setReadOnly(true);
        assertThatThrownBy(() -> transaction.executeWithoutResult(
                        status -> guard().check(token(34), Binding.of("orders/42"), Access.READ)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("read-only");
        assertThat(mark()).isEqualTo(Mark.NONE);
    }
}
