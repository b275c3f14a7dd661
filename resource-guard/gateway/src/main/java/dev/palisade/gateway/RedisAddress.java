package dev.palisade.gateway;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * URI of the one Redis that holds a register: {@code redis[s]://HOST[:PORT][?ca=FILE&cert=FILE&key=FILE]}, spelled as the lock
 * server's {@code --store}. User and password are keys of their own. No message repeats a part of it: any part may be a password
 * that is not where it should be.
 */
record RedisAddress(
        HostPort server,
        boolean tls,
        @Nullable Path authorities,
        @Nullable Path certificate,
        @Nullable Path key) {
    private static final int PORT = 6379;
    private static final Set<String> PARAMETERS = Set.of("ca", "cert", "key");

    /**
     * @param directory where relative paths start
     * @throws IllegalArgumentException in one line, what is wrong and what to do
     */
    static RedisAddress parse(String text, Path directory) {
        int scheme = text.indexOf("://");
        String name = scheme < 0 ? "" : text.substring(0, scheme).toLowerCase(Locale.ROOT);
        boolean tls = switch (name) {
            case "redis" -> false;
            case "rediss" -> true;
            case "redis-sentinel", "rediss-sentinel" ->
                throw wrong("names Sentinels; a failover can leave two primaries, which gateways do not notice:"
                        + " use redis://HOST:PORT of a Redis that nothing promotes by itself");
            case "redis-cluster", "rediss-cluster" ->
                throw wrong("names a cluster, but a register is in a single Redis; use redis://HOST:PORT");
            default -> throw wrong("is no Redis URI; use redis://HOST:PORT, or rediss://HOST:PORT for TLS");
        };
        String rest = text.substring(scheme + 3);
        if (rest.indexOf('@') >= 0) {
            throw wrong("has a user or a password; put the password in a file, and name them with user and"
                    + " password-file");
        }
        String[] parts = rest.split("\\?", 2);
        String host = parts[0].endsWith("/0") ? parts[0].substring(0, parts[0].length() - 2) : parts[0];
        if (host.endsWith("/")) {
            host = host.substring(0, host.length() - 1);
        }
        if (host.indexOf('/') >= 0) {
            throw wrong("names a database other than 0; leave it out");
        }
        Optional<HostPort> server =
                HostPort.parse(host, 1).or(() -> HostPort.parse(withoutPort(parts[0]) + ":" + PORT, 1));
        Map<String, Path> files = files(parts.length == 1 ? "" : parts[1], directory);
        if (!tls && !files.isEmpty()) {
            throw wrong("names certificates without TLS; use rediss");
        }
        if (files.containsKey("cert") != files.containsKey("key")) {
            throw wrong("needs cert= and key= together");
        }
        return new RedisAddress(
                server.orElseThrow(() -> wrong("has a server that is none; use HOST or HOST:PORT with a port of 1 to"
                        + " 65535, [HOST] for IPv6")),
                tls,
                files.get("ca"),
                files.get("cert"),
                files.get("key"));
    }

    /** Empty, so no server, if there is a port already. */
    private static String withoutPort(String text) {
        String host = text.split("/", 2)[0];
        return host.endsWith("]") || host.indexOf(':') < 0 ? host : "";
    }

    private static Map<String, Path> files(String parameters, Path directory) {
        Map<String, Path> files = new HashMap<>();
        for (String parameter : parameters.isEmpty() ? new String[0] : parameters.split("&", -1)) {
            String[] pair = parameter.split("=", 2);
            if (!PARAMETERS.contains(pair[0]) || pair.length == 1 || pair[1].isEmpty()) {
                throw wrong("has a parameter that is none; use ca=FILE, cert=FILE and key=FILE");
            }
            files.put(pair[0], directory.resolve(pair[1]));
        }
        return files;
    }

    private static IllegalArgumentException wrong(String why) {
        return new IllegalArgumentException("redis " + why);
    }

    /** Without the files. */
    @Override
    public String toString() {
        String host = server.host().indexOf(':') >= 0 ? "[" + server.host() + "]" : server.host();
        return (tls ? "rediss://" : "redis://") + host + ":" + server.port();
    }
}
