package dev.palisade.contract.cli;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.grpc.ClientCertificates;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.contract.grpc.TlsUnusable;
import java.nio.file.Path;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** The TLS options of every command that listens. */
public final class ServerTls {
    @Option(
            names = "--tls-cert",
            paramLabel = "FILE",
            description = "Listen with TLS only: the server's certificate chain in PEM. Read again when it changes, "
                    + "as the two files below are.")
    @Nullable
    Path certificate;

    @Option(names = "--tls-key", paramLabel = "FILE", description = "The private key of --tls-cert, PKCS#8 in PEM.")
    @Nullable
    Path key;

    @Option(
            names = "--tls-client-ca",
            paramLabel = "FILE",
            description = "Refuse clients without a certificate that one of these authorities issued. In PEM.")
    @Nullable
    Path clientAuthorities;

    /** Whether the command listens with TLS only. */
    public boolean isOn() {
        return certificate != null;
    }

    /** Whether certificates of clients are verified. */
    public boolean verifiesClients() {
        return clientAuthorities != null;
    }

    /** What a start says of it. */
    public String shown() {
        return shown(ClientCertificates.REQUIRED);
    }

    /** What a start says of it, for clients that may come without a certificate, or may not. */
    public String shown(ClientCertificates clientCertificates) {
        String verified = clientCertificates == ClientCertificates.REQUIRED
                ? ", clients verified by "
                : ", certificates of clients, if any, verified by ";
        return "TLS certificate " + certificate
                + (clientAuthorities == null ? ", clients are not verified" : verified + clientAuthorities);
    }

    /** @throws ParameterException when one of the options is given without another that it needs */
    public void check(CommandSpec command) {
        requirePair(command, "--tls-cert", certificate, "--tls-key", key);
        requirePair(command, "--tls-key", key, "--tls-cert", certificate);
        requirePair(command, "--tls-client-ca", clientAuthorities, "--tls-cert", certificate);
    }

    private static void requirePair(
            CommandSpec command, String given, @Nullable Path value, String other, @Nullable Path needed) {
        if (value != null && needed == null) {
            throw new ParameterException(
                    command.commandLine(), Settings.named(command, given) + " needs " + other + " too");
        }
    }

    /** @return null without TLS */
    public @Nullable ReloadableTls load(Instant now) throws CannotStart {
        return load(ClientCertificates.REQUIRED, now);
    }

    /**
     * Reads the files.
     *
     * @param clientCertificates whether a client needs one, with {@code --tls-client-ca}
     * @return null without TLS
     */
    public @Nullable ReloadableTls load(ClientCertificates clientCertificates, Instant now) throws CannotStart {
        if (certificate == null || key == null) {
            return null;
        }
        try {
            return ReloadableTls.server(certificate, key, clientAuthorities, clientCertificates, now);
        } catch (TlsUnusable e) {
            throw new CannotStart(e.message());
        }
    }
}
