package dev.palisade.server.store.redis;

import static dev.palisade.server.store.UriText.after;
import static dev.palisade.server.store.UriText.before;
import static dev.palisade.server.store.UriText.decoded;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Which Redis keeps the locks:
 *
 * <pre>
 * redis[s]://[USER:PASSWORD@]HOST[:PORT]
 * redis[s]-sentinel://[USER:PASSWORD@]HOST[:PORT],...#PRIMARY
 * redis[s]-cluster://[USER:PASSWORD@]HOST[:PORT],...
 * </pre>
 *
 * With an s the connections are encrypted. After a {@code ?}, joined by {@code &}: {@code ca=FILE}, {@code cert=FILE},
 * {@code key=FILE} (PEM), {@code sentinel-user=NAME}, {@code sentinel-password=TEXT}. User, password and values are percent-encoded.
 * It never tells a password.
 *
 * @param addresses of the server, of Sentinels, or of some of the cluster's nodes
 * @param primaryName the primary's name at the Sentinels; empty without them
 */
public record StoreUri(
        Kind kind,
        boolean tls,
        List<Address> addresses,
        String primaryName,
        Login login,
        Map<String, String> parameters) {
    private static final int REDIS_PORT = 6379;
    private static final int SENTINEL_PORT = 26379;
    private static final Set<String> PARAMETERS = Set.of("ca", "cert", "key", "sentinel-user", "sentinel-password");

    private static final Pattern SERVER =
            Pattern.compile("(?:\\[(?<ipv6>[0-9a-fA-F:.%]+)]|(?<host>[^:\\[\\]\\s]+))(?::(?<port>\\d{1,5}))?");

    enum Kind {
        STANDALONE,
        SENTINEL,
        CLUSTER
    }

    /** @param user null for the user named default */
    record Login(@Nullable String user, @Nullable String password) {
        @Override
        public String toString() {
            return user == null ? "default user" : user;
        }
    }

    /** @throws IllegalArgumentException with what is wrong, to go on after the option's name; without any password */
    public static StoreUri parse(String text) {
        int scheme = text.indexOf("://");
        String name = scheme < 0 ? "" : text.substring(0, scheme).toLowerCase(Locale.ROOT);
        boolean tls = name.startsWith("rediss");
        Kind kind = switch (tls ? "redis" + name.substring(6) : name) {
            case "redis" -> Kind.STANDALONE;
            case "redis-sentinel" -> Kind.SENTINEL;
            case "redis-cluster" -> Kind.CLUSTER;
            default ->
                throw wrong("is no URI of a store; use redis://HOST:PORT, rediss:// for TLS, "
                        + "redis-sentinel://HOST,HOST#PRIMARY, redis-cluster://HOST,HOST or "
                        + "postgresql://HOST:PORT/DATABASE");
        };
        // No message below tells a part of the text: any part may hold a password that is not where it should be.
        String rest = text.substring(scheme + 3);
        if (after(rest, '#').indexOf('@') >= 0 || after(rest, '?').indexOf('@') >= 0) {
            throw wrong("has a '#' or '?' before an '@'; in a user or password write %23, %3F and %40");
        }
        String fragment = after(rest, '#');
        rest = before(rest, '#');
        Map<String, String> parameters = parameters(after(rest, '?'));
        rest = before(rest, '?');
        int at = rest.lastIndexOf('@');
        Login login = at < 0 ? new Login(null, null) : login(rest.substring(0, at));
        rest = rest.substring(at + 1);
        String database = after(rest, '/');
        if (!database.isEmpty() && !database.equals("0")) {
            throw wrong("names a database other than 0; leave it out, the function library is shared by all of them");
        }
        List<Address> addresses = new ArrayList<>();
        for (String part : before(rest, '/').split(",", -1)) {
            addresses.add(address(part, kind == Kind.SENTINEL ? SENTINEL_PORT : REDIS_PORT));
        }
        if (kind == Kind.STANDALONE && addresses.size() > 1) {
            throw wrong("names several servers; use redis-sentinel:// or redis-cluster://");
        }
        if (kind == Kind.SENTINEL && fragment.isEmpty()) {
            throw wrong("does not name the primary; add #NAME, as in the Sentinels' 'sentinel monitor NAME'");
        }
        if (kind != Kind.SENTINEL && !fragment.isEmpty()) {
            throw wrong("has a '#', which only redis-sentinel:// takes");
        }
        if (!tls && (parameters.containsKey("ca") || parameters.containsKey("cert"))) {
            throw wrong("names certificates without TLS; use rediss");
        }
        if (parameters.containsKey("cert") != parameters.containsKey("key")) {
            throw wrong("needs cert= and key= together");
        }
        return new StoreUri(kind, tls, List.copyOf(addresses), decoded(fragment), login, parameters);
    }

    Login sentinelLogin() {
        return new Login(parameters.get("sentinel-user"), parameters.get("sentinel-password"));
    }

    /** A file named {@code ca}, {@code cert} or {@code key}. */
    Optional<Path> file(String name) {
        return Optional.ofNullable(parameters.get(name)).map(Path::of);
    }

    /** The URI without user, password and parameters. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(tls ? "rediss" : "redis");
        if (kind != Kind.STANDALONE) {
            text.append('-').append(kind.name().toLowerCase(Locale.ROOT));
        }
        text.append("://")
                .append(String.join(
                        ",", addresses.stream().map(Address::toString).toList()));
        return kind == Kind.SENTINEL ? text.append('#').append(primaryName).toString() : text.toString();
    }

    private static Login login(String text) {
        int colon = text.indexOf(':');
        if (colon < 0) {
            throw wrong("has a user without a password; use USER:PASSWORD@ or :PASSWORD@");
        }
        String user = decoded(text.substring(0, colon));
        return new Login(user.isEmpty() ? null : user, decoded(text.substring(colon + 1)));
    }

    private static Address address(String text, int defaultPort) {
        Matcher server = SERVER.matcher(text);
        if (!server.matches()) {
            throw wrong("has a server that is none; use HOST or HOST:PORT, [HOST] for IPv6");
        }
        int port = server.group("port") == null ? defaultPort : Integer.parseInt(server.group("port"));
        if (port < 1 || port > 65_535) {
            throw wrong("has a port that is none; use 1 to 65535");
        }
        return new Address(server.group("host") != null ? server.group("host") : server.group("ipv6"), port);
    }

    private static Map<String, String> parameters(String text) {
        Map<String, String> all = new HashMap<>();
        for (String part : text.isEmpty() ? new String[0] : text.split("&", -1)) {
            String key = before(part, '=');
            if (!PARAMETERS.contains(key)) {
                throw wrong("has an unknown parameter; use ca, cert, key, sentinel-user, sentinel-password");
            }
            all.put(key, decoded(after(part, '=')));
        }
        return Map.copyOf(all);
    }

    private static IllegalArgumentException wrong(String why) {
        return new IllegalArgumentException(why);
    }
}
