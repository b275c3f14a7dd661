package dev.palisade.gateway;

import dev.palisade.guard.redis.RedisRegister;
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
 * @param jdbcUrl of PostgreSQL, the one driver that is in the gateway; empty: it is in {@code redis}
 * @param redis null: it is at {@code jdbcUrl}
 * @param name of the register in Redis, which may hold several
 * @param passwordFile its first line is the password; null: none
 * @param lease how long a gateway may be out of touch with the database
 * @param takesOver whether gateways end the requests of one whose lease is over, without an operator
 */
record RegisterConfig(
        String jdbcUrl,
        @Nullable RedisAddress redis,
        String name,
        String user,
        @Nullable Path passwordFile,
        Duration lease,
        boolean takesOver) {
    static final Set<String> KEYS =
            Set.of("jdbc-url", "redis", "name", "user", "password-file", "lease", "take-over-after-lease");

    /** @param protects the name of a register in Redis, unless it has one of its own */
    static RegisterConfig of(Mistakes mistakes, Node node, Path directory, String protects) {
        YamlSection section = new YamlSection(mistakes, node, KEYS);
        if (section.has("jdbc-url") == section.has("redis")) {
            mistakes.add(
                    node,
                    "register needs jdbc-url: jdbc:postgresql://HOST/DATABASE or redis: redis://HOST:PORT, and one of"
                            + " them alone");
        }
        String name = section.text("name", protects);
        if (section.has("redis")) {
            checkForRedis(mistakes, section, name);
        } else if (section.has("name")) {
            mistakes.add(section.at("name"), "name is that of a register in Redis; leave it out");
        }
        return new RegisterConfig(
                jdbcUrl(mistakes, section),
                redis(mistakes, section, directory),
                name,
                section.text("user", ""),
                section.path("password-file", directory),
                section.time("lease", Duration.ofSeconds(10), Duration.ofSeconds(1), Duration.ofMinutes(5)),
                section.flag("take-over-after-lease"));
    }

    private static void checkForRedis(Mistakes mistakes, YamlSection section, String name) {
        if (!name.isEmpty() && !name.matches("[A-Za-z0-9._:/-]{1," + RedisRegister.NAME_LENGTH_MAX + "}")) {
            mistakes.add(
                    section.at("name"),
                    (section.has("name") ? "name '" + name + "'" : "the name of protects")
                            + " is none of a register; write name: with 1 to " + RedisRegister.NAME_LENGTH_MAX
                            + " letters, digits and . _ : / -");
        }
        if (section.has("user") && !section.has("password-file")) {
            mistakes.add(section.at("user"), "user needs password-file too; write password-file: FILE");
        }
    }

    private static String jdbcUrl(Mistakes mistakes, YamlSection section) {
        String url = section.text("jdbc-url", "");
        if (!url.isEmpty() && !url.startsWith("jdbc:postgresql:")) {
            mistakes.add(
                    section.at("jdbc-url"),
                    "jdbc-url is not one of PostgreSQL; use jdbc:postgresql://HOST/DATABASE, or redis in its place");
        }
        if (url.matches("(?i).*[?&]password=.*")) {
            mistakes.add(
                    section.at("jdbc-url"),
                    "jdbc-url has a password; put it in a file, and name it with password-file");
        }
        return url;
    }

    private static @Nullable RedisAddress redis(Mistakes mistakes, YamlSection section, Path directory) {
        String uri = section.text("redis", "");
        return uri.isEmpty() ? null : mistakes.catching(section.at("redis"), () -> RedisAddress.parse(uri, directory));
    }

    /**
     * Connects to Redis now, to PostgreSQL later.
     *
     * @throws IOException in one line, when a file cannot be read, or Redis not be reached
     */
    OpenRegister open() throws IOException {
        return redis == null
                ? new RegisterInPostgres(jdbcUrl, user, password(), lease)
                : new RegisterInRedis(redis, user, password(), name, lease);
    }

    /** @throws IOException in one line, when a file cannot be read */
    void readFiles() throws IOException {
        var unusedPassword = password();
        if (redis != null) {
            var unusedSsl = RegisterInRedis.ssl(redis);
        }
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
                            + e.getClass().getSimpleName() + "); name a readable file with password-file of register",
                    e);
        }
    }

    /** For people: without what follows the name of the database. */
    @Override
    public String toString() {
        return redis == null ? jdbcUrl.split("[?;]", 2)[0] : redis + ", register '" + name + "'";
    }
}
