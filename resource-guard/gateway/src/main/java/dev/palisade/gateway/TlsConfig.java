package dev.palisade.gateway;

import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.contract.grpc.TlsUnusable;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/**
 * The PEM files of one side of TLS, as the gateway's file names them.
 *
 * @param authorities that issue the other side's certificates; null: for a server, clients present none; for a client,
 *     those of the Java runtime
 * @param certificate this side's chain; a client may have none
 * @param key of {@code certificate}
 */
record TlsConfig(
        @Nullable Path authorities,
        @Nullable Path certificate,
        @Nullable Path key) {
    static final Set<String> SERVER_KEYS = Set.of("cert", "key", "client-ca");
    static final Set<String> CLIENT_KEYS = Set.of("ca", "cert", "key");

    /** For the gateway's own port. */
    static TlsConfig server(Mistakes mistakes, Node node, Path directory) {
        YamlSection section = new YamlSection(mistakes, node, SERVER_KEYS);
        for (String key : new String[] {"cert", "key"}) {
            if (!section.has(key)) {
                mistakes.add(node, key + " is missing; write " + key + ": FILE, in PEM");
            }
        }
        return new TlsConfig(
                section.path("client-ca", directory), section.path("cert", directory), section.path("key", directory));
    }

    /** For calls that the gateway makes. */
    static TlsConfig client(Mistakes mistakes, Node node, Path directory) {
        YamlSection section = new YamlSection(mistakes, node, CLIENT_KEYS);
        if (section.has("cert") != section.has("key")) {
            mistakes.add(
                    node,
                    section.has("cert")
                            ? "cert needs key too; write key: FILE"
                            : "key needs cert too; write cert: FILE");
        }
        return new TlsConfig(
                section.path("ca", directory), section.path("cert", directory), section.path("key", directory));
    }

    /** @throws TlsUnusable a file cannot be used */
    ReloadableTls loadServer(Instant now) throws TlsUnusable {
        if (certificate == null || key == null) {
            throw new IllegalStateException("a server's files were checked when the config was read");
        }
        return ReloadableTls.server(certificate, key, authorities, now);
    }

    /** @throws TlsUnusable a file cannot be used */
    ReloadableTls loadClient(Instant now) throws TlsUnusable {
        return ReloadableTls.client(authorities, certificate, key, now);
    }
}
