package dev.palisade.cli.term;

import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.Settings;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.contract.grpc.TlsUnusable;
import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import java.nio.file.Path;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** The TLS options of every verb that calls a lock server. Without any of them calls are in plaintext. */
public final class ClientTls {
    @Option(
            names = "--tls",
            description = "Call with TLS. The server's certificate is verified by the authorities of the Java runtime.")
    boolean tls;

    @Option(
            names = "--cacert",
            paramLabel = "FILE",
            description = "Call with TLS. The server's certificate is verified by these authorities, in PEM.")
    @Nullable
    Path authorities;

    @Option(
            names = "--cert",
            paramLabel = "FILE",
            description = "Call with TLS and present this certificate chain, in PEM; with --key.")
    @Nullable
    Path certificate;

    @Option(names = "--key", paramLabel = "FILE", description = "The private key of --cert, PKCS#8 in PEM.")
    @Nullable
    Path key;

    /**
     * Reads the files.
     *
     * @throws Failed in one line, when a file cannot be used
     * @throws ParameterException when --cert or --key is given alone
     */
    ChannelCredentials credentials(CommandSpec command) throws Failed {
        if ((certificate == null) != (key == null)) {
            throw new ParameterException(
                    command.commandLine(),
                    certificate == null
                            ? Settings.named(command, "--key") + " needs --cert too"
                            : Settings.named(command, "--cert") + " needs --key too");
        }
        if (!tls && authorities == null && certificate == null) {
            return InsecureChannelCredentials.create();
        }
        try {
            return ReloadableTls.client(authorities, certificate, key, Instant.now())
                    .channelCredentials();
        } catch (TlsUnusable e) {
            throw new Failed(ExitCodes.USAGE, "", e.message());
        }
    }
}
