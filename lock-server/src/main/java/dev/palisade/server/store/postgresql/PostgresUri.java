package dev.palisade.server.store.postgresql;

import static dev.palisade.server.store.UriText.after;
import static dev.palisade.server.store.UriText.before;
import static dev.palisade.server.store.UriText.decoded;

import com.google.common.net.HostAndPort;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The address of the PostgreSQL that keeps the locks:
 *
 * <pre>
 * postgresql://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...]/DATABASE
 * </pre>
 *
 * After a {@code ?}, joined by {@code &}: {@code sslmode}, {@code sslrootcert}, {@code sslcert} and {@code sslkey}, as PostgreSQL's own
 * clients have them, and {@code currentSchema}. User, password and values are percent-encoded. It never tells a password.
 *
 * @param servers to ask which of them takes writes
 * @param user empty for the name of the user that runs this process
 * @param password empty for none, or the one in the file that PostgreSQL's clients read
 */
public record PostgresUri(
        List<HostAndPort> servers, String database, String user, String password, Map<String, String> parameters) {
    private static final int PORT = 5432;
    private static final Set<String> SCHEMES = Set.of("postgresql", "postgres");
    private static final Set<String> PARAMETERS =
            Set.of("sslmode", "sslrootcert", "sslcert", "sslkey", "currentSchema");
    private static final Set<String> SSL_MODES =
            Set.of("disable", "allow", "prefer", "require", "verify-ca", "verify-full");

    /** Whether the text begins as such a URI does. */
    public static boolean isOne(String text) {
        return SCHEMES.contains(scheme(text));
    }

    private static String scheme(String text) {
        int end = text.indexOf("://");
        return end < 0 ? "" : text.substring(0, end).toLowerCase(Locale.ROOT);
    }

    /** @throws IllegalArgumentException with what is wrong, to go on after the option's name; without any password */
    public static PostgresUri parse(String text) {
        if (!isOne(text)) {
            throw wrong("is no PostgreSQL URI; use postgresql://USER@HOST:PORT/DATABASE");
        }
        // No message below tells a part of the text: any part may hold a password that is not where it should be.
        String rest = after(text, ':').substring(2);
        if (rest.indexOf('#') >= 0 || after(rest, '?').indexOf('@') >= 0) {
            throw wrong("has a '#', or a '?' before an '@'; in a user or password write %23, %3F and %40");
        }
        Map<String, String> parameters = parameters(after(rest, '?'));
        rest = before(rest, '?');
        int at = rest.lastIndexOf('@');
        String login = at < 0 ? "" : rest.substring(0, at);
        rest = rest.substring(at + 1);
        String database = decoded(after(rest, '/'));
        if (database.isEmpty() || database.indexOf('/') >= 0) {
            throw wrong("does not name the database; add /DATABASE after the servers");
        }
        List<HostAndPort> servers = new ArrayList<>();
        for (String part : before(rest, '/').split(",", -1)) {
            servers.add(server(part));
        }
        String mode = parameters.getOrDefault("sslmode", "prefer");
        if (!SSL_MODES.contains(mode)) {
            throw wrong("has an unknown sslmode; use disable, require, verify-ca or verify-full");
        }
        return new PostgresUri(
                List.copyOf(servers), database, decoded(before(login, ':')), decoded(after(login, ':')), parameters);
    }

    private static HostAndPort server(String text) {
        try {
            HostAndPort server = HostAndPort.fromString(text).withDefaultPort(PORT);
            if (!server.getHost().isBlank() && server.getHost().indexOf(' ') < 0 && server.getPort() > 0) {
                return server;
            }
        } catch (IllegalArgumentException e) {
            // Its message would tell the text.
        }
        throw wrong("has a server that is none; use HOST or HOST:PORT, [HOST] for IPv6");
    }

    private static Map<String, String> parameters(String text) {
        Map<String, String> all = new HashMap<>();
        for (String part : text.isEmpty() ? new String[0] : text.split("&", -1)) {
            String key = before(part, '=');
            if (!PARAMETERS.contains(key)) {
                throw wrong("has an unknown parameter; use sslmode, sslrootcert, sslcert, sslkey, currentSchema");
            }
            all.put(key, decoded(after(part, '=')));
        }
        return Map.copyOf(all);
    }

    /** The URI without user, password and parameters. */
    @Override
    public String toString() {
        return "postgresql://" + servers.stream().map(HostAndPort::toString).collect(Collectors.joining(",")) + "/"
                + database;
    }

    private static IllegalArgumentException wrong(String why) {
        return new IllegalArgumentException(why);
    }
}
