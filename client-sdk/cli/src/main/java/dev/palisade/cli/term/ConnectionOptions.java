package dev.palisade.cli.term;

import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.DurationOption;
import dev.palisade.contract.cli.Settings;
import dev.palisade.contract.cli.TerminalEscape;
import dev.palisade.contract.grpc.BearerTokenFile;
import io.grpc.ChannelCredentials;
import io.grpc.CompositeChannelCredentials;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/**
 * The connection options of a command: address of the lock server, TLS, time limit, and settings file. Every command
 * that calls a lock server has them.
 */
public final class ConnectionOptions {
    /** Default address on which {@code palisade server} listens. */
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

    @Mixin
    final ClientTls tls = new ClientTls();

    @Option(
            names = "--token-file",
            paramLabel = "FILE",
            description = "Holds the token to call with, as palisade users add prints it. Also $PALISADE_TOKEN_FILE")
    @Nullable
    Path tokenFile;

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

    /** Whether the warning about a token file that other users can read was printed: once per command. */
    private boolean warned;

    /** The value of {@code --server}, unchanged. */
    public String address() {
        return address;
    }

    /**
     * The value of {@code --timeout}.
     *
     * @throws ParameterException when it is out of range
     */
    public Duration timeout(CommandSpec command) {
        within(command, "--timeout", timeout, TIMEOUT_MIN, TIMEOUT_MAX);
        return timeout;
    }

    /**
     * Credentials of the calls: plaintext or TLS, with the bearer token if a token file is given.
     *
     * @throws Failed in one line, when a file cannot be used
     */
    public ChannelCredentials credentials(CommandSpec command) throws Failed {
        ChannelCredentials transport = tls.credentials(command);
        if (tokenFile == null) {
            return transport;
        }
        BearerTokenFile token = BearerTokenFile.at(tokenFile);
        try {
            token.check();
        } catch (IOException e) {
            throw new Failed(ExitCodes.USAGE, "", String.valueOf(e.getMessage()));
        }
        if (!warned) {
            warned = true;
            warnIfReadableByOthers(command, tokenFile, token);
        }
        return CompositeChannelCredentials.create(transport, token);
    }

    private static void warnIfReadableByOthers(CommandSpec command, Path file, BearerTokenFile token) {
        Set<PosixFilePermission> mode;
        try {
            mode = Files.getPosixFilePermissions(file);
        } catch (IOException | UnsupportedOperationException e) {
            return; // Unknown here, as on file systems without POSIX permissions.
        }
        if (mode.contains(PosixFilePermission.GROUP_READ) || mode.contains(PosixFilePermission.OTHERS_READ)) {
            PrintWriter err = command.commandLine().getErr();
            err.println(command.qualifiedName() + ": warning: " + TerminalEscape.text(token.toString())
                    + " can be read by other users (" + PosixFilePermissions.toString(mode) + "); chmod 600 it");
            err.flush();
        }
    }

    /** @param callTimeout of one call */
    public PalisadeClient.Builder client(CommandSpec command, Duration callTimeout) throws Failed {
        return PalisadeClient.builder()
                .servers(address.split(",", -1))
                .credentials(credentials(command))
                .owner(CallerName.process())
                .callTimeout(callTimeout);
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
