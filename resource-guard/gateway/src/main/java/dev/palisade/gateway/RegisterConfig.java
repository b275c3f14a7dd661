package dev.palisade.gateway;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/**
 * The database in which several gateways share marks and running requests.
 *
 * @param jdbcUrl of PostgreSQL, the one driver that is in the gateway
 * @param passwordFile its first line is the password; null: none
 * @param lease how long a gateway may be out of touch with the database
 * @param takesOver whether gateways end the requests of one whose lease is over, without an operator
 */
record RegisterConfig(String jdbcUrl, String user, @Nullable Path passwordFile, Duration lease, boolean takesOver) {
    static final Set<String> KEYS = Set.of("jdbc-url", "user", "password-file", "lease", "take-over-after-lease");

    /** As many as a guard uses at a time. */
    private static final int CONNECTIONS = 5;

    private static final long CONNECT_MILLIS_MAX = 5_000;

    static RegisterConfig of(Mistakes mistakes, Node node, Path directory) {
        YamlSection section = new YamlSection(mistakes, node, KEYS);
        String url = section.required("jdbc-url", "jdbc:postgresql://HOST/DATABASE");
        if (!url.isEmpty() && !url.startsWith("jdbc:postgresql:")) {
            mistakes.add(
                    section.at("jdbc-url"), "jdbc-url is not one of PostgreSQL; use jdbc:postgresql://HOST/DATABASE");
        }
        if (url.matches("(?i).*[?&]password=.*")) {
            mistakes.add(
                    section.at("jdbc-url"),
                    "jdbc-url has a password; put it in a file, and name it with password-file");
        }
        return new RegisterConfig(
                url,
                section.text("user", ""),
                section.path("password-file", directory),
                section.time("lease", Duration.ofSeconds(10), Duration.ofSeconds(1), Duration.ofMinutes(5)),
                section.flag("take-over-after-lease"));
    }

    /**
     * Connections to the database, to be closed by the caller. Connects later.
     *
     * @throws IOException in one line, when the password's file cannot be read
     */
    HikariDataSource pool() throws IOException {
        HikariConfig config = new HikariConfig();
        config.setPoolName("palisade-gateway");
        config.setJdbcUrl(jdbcUrl);
        config.setUsername(user);
        config.setPassword(password());
        config.setMaximumPoolSize(CONNECTIONS);
        config.setConnectionTimeout(CONNECT_MILLIS_MAX);
        config.setInitializationFailTimeout(-1);
        return new HikariDataSource(config);
    }

    private String password() throws IOException {
        if (passwordFile == null) {
            return "";
        }
        try {
            return Files.readString(passwordFile, StandardCharsets.UTF_8)
                    .lines()
                    .findFirst()
                    .orElse("");
        } catch (IOException e) {
            throw new IOException(
                    "password-file " + passwordFile + " cannot be read ("
                            + e.getClass().getSimpleName() + ")",
                    e);
        }
    }

    /** For people: without what follows the name of the database. */
    @Override
    public String toString() {
        return jdbcUrl.split("[?;]", 2)[0];
    }
}
