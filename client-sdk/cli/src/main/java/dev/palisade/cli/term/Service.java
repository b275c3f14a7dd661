package dev.palisade.cli.term;

import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.cli.DurationOption;
import dev.palisade.contract.cli.Settings;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** The options of every verb that calls a lock server: its address, the time limit, and the settings file. */
public final class Service {
    /** Where {@code palisade server} listens unless told otherwise. */
    public static final String DEFAULT = "127.0.0.1:7600";

    private static final Duration TIMEOUT_MIN = Duration.ofMillis(100);
    private static final Duration TIMEOUT_MAX = Duration.ofHours(1);

    @Option(
            names = "--server",
            paramLabel = "HOST:PORT",
            defaultValue = DEFAULT,
            description =
                    "The lock server; several, separated by commas, are tried in turn. Also $PALISADE_SERVER. Default: ${DEFAULT-VALUE}")
    String address = DEFAULT;

    @Option(
            names = "--timeout",
            paramLabel = "TIME",
            defaultValue = "5s",
            converter = DurationOption.class,
            description = "Time limit for replies of the lock server. Default: ${DEFAULT-VALUE}")
    Duration timeout = Duration.ofSeconds(5);

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

    /** @throws ParameterException when it is out of range */
    public Duration timeout(CommandSpec command) {
        within(command, "--timeout", timeout, TIMEOUT_MIN, TIMEOUT_MAX);
        return timeout;
    }

    /** @param patience how long one call may take */
    public PalisadeClient.Builder client(Duration patience) {
        return PalisadeClient.builder()
                .servers(address.split(",", -1))
                .owner(Person.here())
                .callTimeout(patience);
    }

    /** @throws ParameterException when a time is out of range */
    public static void within(CommandSpec command, String option, Duration given, Duration least, Duration most) {
        if (given.compareTo(least) < 0 || given.compareTo(most) > 0) {
            throw new ParameterException(
                    command.commandLine(),
                    Settings.named(command, option) + " is " + DurationOption.text(given) + "; use "
                            + DurationOption.text(least) + " to " + DurationOption.text(most));
        }
    }
}
