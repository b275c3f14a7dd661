package dev.palisade.server.store.postgresql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.net.HostAndPort;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PostgresUriTest {
    @Test
    void partsAreRead() {
        PostgresUri uri = PostgresUri.parse(
                "postgresql://us%40er:se%23cret@db1:6000,[::1],db3/locks?sslmode=verify-full&sslrootcert=/a%20b.pem");
        assertThat(uri.servers())
                .containsExactly(
                        HostAndPort.fromParts("db1", 6000),
                        HostAndPort.fromParts("::1", 5432),
                        HostAndPort.fromParts("db3", 5432));
        assertThat(uri.database()).isEqualTo("locks");
        assertThat(uri.user()).isEqualTo("us@er");
        assertThat(uri.password()).isEqualTo("se#cret");
        assertThat(uri.parameters()).containsEntry("sslmode", "verify-full").containsEntry("sslrootcert", "/a b.pem");
        assertThat(uri).hasToString("postgresql://db1:6000,[::1]:5432,db3:5432/locks");
    }

    @Test
    void userAndPasswordMayBeLeftOut() {
        PostgresUri uri = PostgresUri.parse("postgres://db/locks");
        assertThat(uri.user()).isEmpty();
        assertThat(uri.password()).isEmpty();
        assertThat(PostgresUri.parse("postgresql://me@db/locks").user()).isEqualTo("me");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            redis://secret@db                             | is no PostgreSQL URI
            jdbc:postgresql://secret@db/locks             | is no PostgreSQL URI
            postgresql://u:secret@db                      | does not name the database
            postgresql://u:secret@db/                     | does not name the database
            postgresql://u:secret@db/a/b                  | does not name the database
            postgresql://u:sec#ret@db/locks               | has a '#'
            postgresql://u:sec?ret@db/locks               | has a '#', or a '?' before an '@'
            postgresql://u:secret@db:0/locks              | has a server that is none
            postgresql://u:secret@db:x/locks              | has a server that is none
            postgresql://u:secret@/locks                  | has a server that is none
            postgresql://u:secret@db,/locks               | has a server that is none
            postgresql://u:secret@db/locks?user=x         | has an unknown parameter
            postgresql://u:secret@db/locks?sslmode=secret | has an unknown sslmode
            postgresql://u:secret%@db/locks               | has a '%' that begins no percent-encoded byte
            """)
    void whatIsWrongIsNamedWithoutAPassword(String uri, String says) {
        assertThatThrownBy(() -> PostgresUri.parse(uri))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(says)
                .hasMessageNotContaining("secret")
                .hasNoCause();
    }
}
