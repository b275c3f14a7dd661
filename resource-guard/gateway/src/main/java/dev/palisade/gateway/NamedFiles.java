package dev.palisade.gateway;

import dev.palisade.contract.grpc.BearerTokenFile;
import dev.palisade.contract.grpc.TlsUnusable;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Files that a gateway's file names, each read once as a start reads it. Keeps and watches none of them. */
final class NamedFiles {
    private final List<String> problems = new ArrayList<>();

    private NamedFiles() {}

    /** A line for each file with which a start would fail. */
    static List<String> problems(GatewayConfig config, Instant now) {
        NamedFiles files = new NamedFiles();
        files.read(() -> Main.keys(config));
        TlsConfig own = config.tls();
        if (own != null) {
            files.read(() -> own.loadServer(now));
        }
        files.readClient(config.lockServerTls(), now);
        files.readClient(config.upstream().tls(), now);
        Path token = config.lockServerToken();
        if (token != null) {
            files.read(() -> BearerTokenFile.at(token).check());
        }
        RegisterConfig register = config.register();
        if (register != null) {
            files.read(register::readFiles);
        }
        return files.problems;
    }

    private interface Reading {
        void run() throws IOException, TlsUnusable;
    }

    private void readClient(@Nullable TlsConfig tls, Instant now) {
        if (tls != null) {
            read(() -> tls.loadClient(now));
        }
    }

    private void read(Reading reading) {
        try {
            reading.run();
        } catch (IOException e) {
            problems.add(String.valueOf(e.getMessage()));
        } catch (TlsUnusable e) {
            problems.add(e.message());
        }
    }
}
