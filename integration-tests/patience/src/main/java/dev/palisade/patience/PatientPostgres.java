package dev.palisade.patience;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.time.Duration;

/** A PostgreSQL of a test's own, which may take a minute to start: its library gives up after 10 s, too few for a busy machine. */
public final class PatientPostgres {
    private static final Duration LIMIT = Duration.ofMinutes(1);

    private PatientPostgres() {}

    public static EmbeddedPostgres.Builder builder() {
        return EmbeddedPostgres.builder().setPGStartupWait(LIMIT);
    }
}
