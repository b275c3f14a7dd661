package dev.palisade.server;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Settings;
import dev.palisade.contract.cli.TerminalEscape;
import dev.palisade.contract.grpc.ClientCertificates;
import dev.palisade.server.access.AccessControl;
import dev.palisade.server.access.AccessFile;
import dev.palisade.server.access.FileMistakes;
import dev.palisade.server.access.Policy;
import dev.palisade.server.access.UserTokens;
import dev.palisade.server.rpc.Authentication;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** The options of authentication and authorization, and the files that they name. */
final class ServerAccess {
    @Option(
            names = "--policy",
            paramLabel = "FILE",
            description = "Rights of each principal: clients have to authenticate, and what no line allows is denied. "
                    + "Read again when it changes. Needs --users, --jwt-issuer or --tls-client-ca.")
    @Nullable
    Path policy;

    @Option(
            names = "--users",
            paramLabel = "FILE",
            description =
                    "Clients that show a token, as palisade users add writes them. Read again when it changes. Needs --policy.")
    @Nullable
    Path users;

    @Option(
            names = "--tls-client-auth",
            paramLabel = "required|optional",
            description =
                    "With --tls-client-ca: whether a client without a certificate is refused, or may show a token "
                            + "instead. Optional needs --policy. Default: required")
    @Nullable
    ClientCertificates clientCertificates;

    @Mixin
    final JwtOptions jwt = new JwtOptions();

    /** Whether clients need a certificate, where they are verified. */
    ClientCertificates clientCertificates() {
        return clientCertificates == null ? ClientCertificates.REQUIRED : clientCertificates;
    }

    /** Whether clients can show a token. */
    boolean hasTokens() {
        return users != null || jwt.isOn();
    }

    /** @throws ParameterException when one of the options is given without another that it needs */
    void check(CommandSpec command, boolean verifiesClients) {
        if (users != null && policy == null) {
            throw new ParameterException(
                    command.commandLine(),
                    Settings.named(command, "--users") + " needs --policy too: what no line of it allows is denied");
        }
        if (clientCertificates != null && !verifiesClients) {
            throw new ParameterException(
                    command.commandLine(),
                    Settings.named(command, "--tls-client-auth")
                            + " needs --tls-client-ca too: the authorities of those certificates");
        }
        if (clientCertificates == ClientCertificates.OPTIONAL && policy == null) {
            throw new ParameterException(
                    command.commandLine(),
                    Settings.named(command, "--tls-client-auth")
                            + " optional needs --policy too: else a client without a certificate may do everything");
        }
        jwt.check(command, policy != null);
        if (policy != null && !hasTokens() && !verifiesClients) {
            throw new ParameterException(
                    command.commandLine(),
                    Settings.named(command, "--policy")
                            + " needs --users, --jwt-issuer or --tls-client-ca too: else no client can show who it is");
        }
    }

    /**
     * Reads the files.
     *
     * @return null when clients need not show who they are
     * @throws CannotStart after a line on standard error for each mistake but the last
     */
    @Nullable
    AccessControl load() throws CannotStart {
        if (policy == null) {
            return null;
        }
        try {
            return new AccessControl(
                    new AccessFile<>(policy, false, Policy::parse),
                    users == null ? null : new AccessFile<>(users, true, UserTokens::parse),
                    jwt.load(),
                    System::nanoTime);
        } catch (FileMistakes e) {
            throw told(e);
        }
    }

    /** Prints each mistake but the last, which it returns to be thrown. */
    static CannotStart told(FileMistakes mistakes) {
        int last = mistakes.lines().size() - 1;
        mistakes.lines().subList(0, last).forEach(line -> System.err.println(TerminalEscape.text(line)));
        return new CannotStart(mistakes.lines().get(last));
    }

    /** The service, for clients who show who they are; without {@code authentication}, for all. */
    static ServerServiceDefinition authenticated(
            ServerServiceDefinition service, @Nullable Authentication authentication) {
        return authentication == null ? service : ServerInterceptors.intercept(service, authentication);
    }
}
