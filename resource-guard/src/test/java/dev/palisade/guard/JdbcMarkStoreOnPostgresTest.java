package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.patience.PatientPostgres;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import javax.sql.DataSource;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** On a real PostgreSQL, started here; if it cannot start this fails, it is never skipped. */
@NullUnmarked
class JdbcMarkStoreOnPostgresTest extends JdbcMarkStoreContract {
    private static EmbeddedPostgres postgres;

    @BeforeAll
    static void start() throws IOException {
        postgres = PatientPostgres.builder().start();
    }

    @AfterAll
    static void stop() throws IOException {
        postgres.close();
    }

    @Override
    DataSource database() {
        return postgres.getPostgresDatabase();
    }

    @Test
    void aDatabaseThatEndsTheConnectionEndsTheStoreAndTheNextOneFindsWhatWasKept() throws Exception {
        MarkStore store = open();
        await(store.put(mark("a", 1)));
        execute("ALTER TABLE palisade_marks ADD CHECK (x_token < 2 OR pg_terminate_backend(pg_backend_pid()))");
        assertFails(store.put(mark("a", 2)), "may or may not");
        assertFails(store.confirm(), "may or may not");
        assertThat(found().marks()).containsExactly(mark("a", 1));
    }
}
