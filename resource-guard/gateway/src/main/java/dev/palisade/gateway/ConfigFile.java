package dev.palisade.gateway;

import dev.palisade.contract.Sequencer;
import dev.palisade.contract.Texts;
import dev.palisade.contract.cli.Defaults;
import dev.palisade.gateway.GatewayConfig.Upstream;
import dev.palisade.gateway.YamlSection.Item;
import dev.palisade.guard.Guard;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Compose;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.Node;

/** Reader of a gateway's config file: YAML with the keys of {@link GatewayConfig}. Reads no other file but the descriptors. */
final class ConfigFile {
    /** Some hundred times the length of a file with a hundred routes. */
    private static final int BYTES_MAX = 1 << 20;

    private static final Duration HOUR = Duration.ofHours(1);

    /** The former name of insecure. */
    private static final String AUDIENCE = "audience";

    private static final String PREVIOUS_KEYSET = "previous-keyset";
    private static final String ALLOW_REMOTE = "allow-remote";

    private static final String ADMIN = "admin";

    private static final String LOCK_SERVER_TOKEN = "lock-server-token-file";

    static final Set<String> KEYS = Set.of(
            "listen",
            ADMIN,
            "insecure",
            "protects",
            "issuer",
            "keyset",
            AUDIENCE,
            PREVIOUS_KEYSET,
            "marks",
            "register",
            "tls",
            "lock-servers",
            "lock-server-tls",
            LOCK_SERVER_TOKEN,
            "lock-wait",
            "unknown-outcome-timeout",
            "observe-only",
            "pass-sequencer",
            "drain",
            "upstream",
            "routes");
    private static final String DESCRIPTORS = "descriptors";

    /** In place of a file. */
    private static final String REFLECTION = "reflection";

    static final Set<String> UPSTREAM_KEYS = Set.of("addresses", "protocol", "tls", "idle-timeout", DESCRIPTORS);

    private final Mistakes mistakes;
    private final String path;
    private final Path directory;

    private ConfigFile(String path) {
        this.path = path;
        mistakes = new Mistakes(path);
        Path parent = Path.of(path).toAbsolutePath().getParent();
        directory = parent == null ? Path.of("/") : parent;
    }

    /** @throws ConfigRefused with a line for each mistake */
    static GatewayConfig read(String path) throws ConfigRefused {
        ConfigFile file = new ConfigFile(path);
        GatewayConfig config = file.config(root(path));
        if (!file.mistakes.isEmpty()) {
            throw new ConfigRefused(file.mistakes.lines());
        }
        return config;
    }

    private static Node root(String path) throws ConfigRefused {
        LoadSettings settings = LoadSettings.builder()
                .setLabel(path)
                .setCodePointLimit(BYTES_MAX)
                .build();
        try {
            return new Compose(settings)
                    .composeString(text(path))
                    .orElseThrow(() ->
                            refused(path + ":1: the file is empty; write at least protects, upstream and" + " routes"));
        } catch (MarkedYamlEngineException e) {
            int line = e.getProblemMark().map(mark -> mark.getLine() + 1).orElse(1);
            throw refused(path + ":" + line + ": this is no YAML: " + firstLine(e.getProblem()));
        } catch (YamlEngineException e) {
            throw refused(path + ":1: this is no YAML: " + firstLine(String.valueOf(e.getMessage())));
        }
    }

    private static String text(String path) throws ConfigRefused {
        byte[] bytes;
        try (InputStream file = Files.newInputStream(Path.of(path))) {
            bytes = file.readNBytes(BYTES_MAX + 1);
            if (bytes.length > BYTES_MAX) {
                throw refused(path + ":1: the file has more than " + BYTES_MAX + " bytes; name a gateway's file");
            }
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
        } catch (IOException | IllegalArgumentException e) {
            throw refused("cannot read " + path + " (" + e.getClass().getSimpleName()
                    + "); name a readable YAML file in UTF-8");
        }
    }

    private static ConfigRefused refused(String line) {
        return new ConfigRefused(List.of(line));
    }

    private static String firstLine(String text) {
        return text.lines().findFirst().orElse("");
    }

    private GatewayConfig config(Node root) {
        YamlSection file = new YamlSection(
                mistakes,
                root,
                Stream.concat(KEYS.stream(), Stream.of(ALLOW_REMOTE)).collect(Collectors.toSet()));
        TlsConfig tls = file.has("tls") ? TlsConfig.server(mistakes, file.at("tls"), directory) : null;
        InetSocketAddress listen = listen(file, tls);
        String protects = file.required("protects", "NAME, such as the name of the service behind the gateway");
        if (!protects.isEmpty()) {
            mistakes.catching(file.at("protects"), () -> Texts.checked("protects", protects, 1, 200));
        }
        Upstream upstream = upstream(file, listen);
        List<String> servers = addresses(file, "lock-servers", "127.0.0.1:7600", List.of("127.0.0.1:7600"));
        Duration unknown = file.time(
                "unknown-outcome-timeout", Guard.Builder.UNKNOWN_OUTCOME_TIMEOUT_DEFAULT, Duration.ofSeconds(1), HOUR);
        if (unknown.compareTo(upstream.idleTimeout()) < 0) {
            mistakes.add(
                    file.at("unknown-outcome-timeout"),
                    "unknown-outcome-timeout is shorter than the upstream's idle-timeout: a call that outlives the"
                            + " gateway could be applied after a newer one; make it at least as long");
        }
        RouteTable routes = new RouteTable(new RouteSection(mistakes).routes(file));
        return new GatewayConfig(
                path,
                listen,
                admin(file, tls),
                protects,
                file.text("issuer", Defaults.ISSUER),
                path(file, "keyset", Defaults.keyset()),
                audience(file),
                file.path(PREVIOUS_KEYSET, directory),
                tls,
                path(file, "marks", Defaults.home().resolve("gateway").resolve("marks")),
                register(file, protects),
                servers,
                clientTls(file, "lock-server-tls"),
                lockServerToken(file, servers),
                file.time("lock-wait", Guard.Builder.MAX_WAIT_DEFAULT, Duration.ofMillis(1), HOUR),
                unknown,
                file.flag("observe-only"),
                file.flag("pass-sequencer"),
                file.time("drain", Duration.ofSeconds(10), Duration.ZERO, Duration.ofMinutes(5)),
                upstream,
                routes,
                messageLocks(file, upstream, routes));
    }

    private @Nullable String audience(YamlSection file) {
        if (!file.has(AUDIENCE)) {
            if (file.has(PREVIOUS_KEYSET)) {
                mistakes.add(
                        file.at(PREVIOUS_KEYSET),
                        "previous-keyset needs audience too; without it, name that keyset with keyset");
            }
            return null;
        }
        String audience = file.text(AUDIENCE, "");
        mistakes.catching(file.at(AUDIENCE), () -> Sequencer.requireAudience(audience));
        return audience;
    }

    private @Nullable TlsConfig clientTls(YamlSection section, String key) {
        return section.has(key) ? TlsConfig.client(mistakes, section.at(key), directory) : null;
    }

    private @Nullable Path lockServerToken(YamlSection file, List<String> servers) {
        Path token = file.path(LOCK_SERVER_TOKEN, directory);
        if (token != null && !file.has("lock-server-tls")) {
            servers.stream()
                    .filter(each ->
                            HostPort.parse(each, 1).filter(HostPort::isLoopback).isEmpty())
                    .forEach(each -> mistakes.add(
                            file.at(LOCK_SERVER_TOKEN),
                            "the token would travel to " + each + " in plaintext; call it with lock-server-tls"));
        }
        return token;
    }

    private @Nullable RegisterConfig register(YamlSection file, String protects) {
        if (!file.has("register")) {
            return null;
        }
        if (file.has("marks")) {
            mistakes.add(file.at("marks"), "marks are in the register's database; leave marks out, or register");
        }
        if (file.flag("observe-only")) {
            mistakes.add(
                    file.at("observe-only"),
                    "a gateway that only observes keeps marks of its own; leave observe-only out, or register");
        }
        return RegisterConfig.of(mistakes, file.at("register"), directory, protects);
    }

    private InetSocketAddress listen(YamlSection file, @Nullable TlsConfig tls) {
        if (file.has(ALLOW_REMOTE)) {
            mistakes.add(file.at(ALLOW_REMOTE), "allow-remote is now called insecure");
        }
        return address(file, "listen", "127.0.0.1:7620", tls);
    }

    private @Nullable InetSocketAddress admin(YamlSection file, @Nullable TlsConfig tls) {
        return file.has(ADMIN) ? address(file, ADMIN, "127.0.0.1:7621", tls) : null;
    }

    private InetSocketAddress address(YamlSection file, String key, String otherwise, @Nullable TlsConfig tls) {
        boolean verified = tls != null && tls.authorities() != null;
        return ListenAddress.of(mistakes, file, key, otherwise, file.flag("insecure") || verified);
    }

    private Upstream upstream(YamlSection file, InetSocketAddress listen) {
        Node node = file.section("upstream");
        Duration idle = Guard.Builder.UNKNOWN_OUTCOME_TIMEOUT_DEFAULT;
        if (node == null) {
            mistakes.add(file.at("upstream"), "upstream is missing; write upstream: and below it addresses: HOST:PORT");
            return new Upstream(List.of(), false, null, idle);
        }
        YamlSection upstream = new YamlSection(mistakes, node, UPSTREAM_KEYS);
        if (!upstream.has("addresses")) {
            mistakes.add(node, "addresses is missing; write addresses: 127.0.0.1:8080");
        }
        List<String> addresses = addresses(upstream, "addresses", "127.0.0.1:8080", List.of());
        addresses.stream()
                .filter(each -> HostPort.parse(each, 1)
                        .filter(address -> address.isServedBy(listen))
                        .isPresent())
                .forEach(each -> mistakes.add(
                        upstream.at("addresses"), each + " is the gateway's own address; name the service's"));
        String protocol = upstream.text("protocol", "http1");
        if (!protocol.equals("http1") && !protocol.equals("http2")) {
            mistakes.add(upstream.at("protocol"), "protocol is '" + protocol + "'; use http1 or http2");
        }
        return new Upstream(
                addresses,
                protocol.equals("http2"),
                clientTls(upstream, "tls"),
                upstream.time("idle-timeout", idle, Duration.ofMillis(100), HOUR));
    }

    /** Null when only the service's reflection knows them. */
    private @Nullable MessageLocks messageLocks(YamlSection file, Upstream upstream, RouteTable routes) {
        Node node = file.section("upstream");
        List<HttpRoute> reading = routes.readingMessages();
        if (node == null || reading.isEmpty()) {
            return MessageLocks.NONE;
        }
        // Its other keys have been checked.
        YamlSection section = new YamlSection(new Mistakes(path), node, UPSTREAM_KEYS);
        if (!upstream.http2() || !section.has(DESCRIPTORS)) {
            String needs = upstream.http2()
                    ? "; give upstream descriptors: FILE or descriptors: " + REFLECTION
                    : " of gRPC; set protocol: http2 of upstream";
            reading.forEach(route ->
                    mistakes.add(route.line(), "lock '" + route.lock() + "' names a field of a message" + needs));
            return MessageLocks.NONE;
        }
        if (section.text(DESCRIPTORS, "").equals(REFLECTION)) {
            return null;
        }
        Path descriptors = section.path(DESCRIPTORS, directory);
        try {
            return descriptors == null
                    ? MessageLocks.NONE
                    : MessageLocks.of(routes, GrpcMethods.ofFile(descriptors), mistakes);
        } catch (IOException e) {
            mistakes.add(section.at(DESCRIPTORS), String.valueOf(e.getMessage()));
            return MessageLocks.NONE;
        }
    }

    private List<String> addresses(YamlSection section, String key, String example, List<String> otherwise) {
        if (!section.has(key)) {
            return otherwise;
        }
        List<String> addresses = new ArrayList<>();
        for (Item item : section.items(key)) {
            Optional<HostPort> address = HostPort.parse(item.text(), 1);
            if (address.isEmpty()) {
                mistakes.add(
                        item.where(),
                        "'" + item.text() + "' of " + key + " is not host:port with a port of 1 to 65535; write "
                                + example);
            } else if (addresses.contains(item.text())) {
                mistakes.add(item.where(), item.text() + " is in " + key + " twice; give it once");
            } else {
                addresses.add(item.text());
            }
        }
        return addresses;
    }

    /** Relative to the file's directory. */
    private Path path(YamlSection file, String key, Path otherwise) {
        String text = file.text(key, otherwise.toString());
        try {
            return directory.resolve(text);
        } catch (IllegalArgumentException e) {
            mistakes.add(file.at(key), key + " is no path: " + firstLine(String.valueOf(e.getMessage())));
            return otherwise;
        }
    }
}
