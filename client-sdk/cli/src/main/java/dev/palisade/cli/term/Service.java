package dev.palisade.cli.term;

import dev.palisade.client.PalisadeClient;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of every verb that asks a lock server: where it is, and where else settings are. */
public final class Service {
    /** Where {@code palisade server} listens unless told otherwise. */
    public static final String DEFAULT = "127.0.0.1:7600";

    @Option(
            names = "--server",
            paramLabel = "HOST:PORT",
            defaultValue = DEFAULT,
            description =
                    "The lock server; several, separated by commas, are tried in turn. Also $PALISADE_SERVER. Default: ${DEFAULT-VALUE}")
    String address = DEFAULT;

    @Option(
            names = "--config",
            paramLabel = "FILE",
            description = "Settings in Java properties format. Also $PALISADE_CONFIG")
    @Nullable
    Path config;

    /** As it was given. */
    public String address() {
        return address;
    }

    /** @param patience how long one question may take */
    public PalisadeClient.Builder client(Duration patience) {
        return PalisadeClient.builder(address).owner(Person.here()).callTimeout(patience);
    }
}
