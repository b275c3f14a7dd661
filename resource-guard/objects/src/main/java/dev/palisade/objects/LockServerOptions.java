package dev.palisade.objects;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Settings;
import dev.palisade.contract.grpc.BearerTokenFile;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.contract.grpc.TlsUnusable;
import dev.palisade.guard.RefusalReports;
import dev.palisade.guard.grpc.GrpcLockService;
import io.grpc.ChannelCredentials;
import io.grpc.CompositeChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** The options for the lock server that explains refusals. Without it none is reported: the store needs no lock server. */
final class LockServerOptions {
    @Option(
            names = "--lock-server",
            paramLabel = "HOST:PORT",
            description = "Report refused calls to this lock server, for palisade explain. Default: off")
    @Nullable
    String address;

    @Option(
            names = "--lock-server-cacert",
            paramLabel = "FILE",
            description = "Call it with TLS; its certificate is verified by these authorities, in PEM.")
    @Nullable
    Path authorities;

    @Option(
            names = "--lock-server-cert",
            paramLabel = "FILE",
            description = "Call it with TLS and this certificate chain, in PEM.")
    @Nullable
    Path certificate;

    @Option(
            names = "--lock-server-key",
            paramLabel = "FILE",
            description = "The private key of --lock-server-cert, PKCS#8 in PEM.")
    @Nullable
    Path key;

    @Option(
            names = "--lock-server-token-file",
            paramLabel = "FILE",
            description = "Holds the token to call it with; its user needs the verb guard.")
    @Nullable
    Path tokenFile;

    /** Reports to one lock server, and the connection to it. */
    record Reporting(RefusalReports reports, ManagedChannel channel) implements AutoCloseable {
        @Override
        public void close() {
            reports.close();
            channel.shutdownNow();
        }
    }

    /** @throws ParameterException when the options do not go together */
    void check(CommandSpec command) {
        String given = authorities != null
                ? "--lock-server-cacert"
                : certificate != null
                        ? "--lock-server-cert"
                        : key != null ? "--lock-server-key" : tokenFile != null ? "--lock-server-token-file" : "";
        if (address == null && !given.isEmpty()) {
            throw misuse(command, given, "needs --lock-server too");
        }
        if ((certificate == null) != (key == null)) {
            throw certificate == null
                    ? misuse(command, "--lock-server-key", "needs --lock-server-cert too")
                    : misuse(command, "--lock-server-cert", "needs --lock-server-key too");
        }
        if (address != null && !address.matches(".+:[0-9]{1,5}")) {
            throw misuse(command, "--lock-server", "is \"" + address + "\"; use host:port, such as 127.0.0.1:7600");
        }
    }

    private static ParameterException misuse(CommandSpec command, String option, String what) {
        return new ParameterException(command.commandLine(), Settings.named(command, option) + " " + what);
    }

    /**
     * Connects when there is something to report.
     *
     * @param name of this process, for people
     * @return null where nothing is reported
     * @throws CannotStart in one line, when a file cannot be used
     */
    @Nullable
    Reporting open(String issuer, String name) throws CannotStart {
        if (address == null) {
            return null;
        }
        ManagedChannel channel =
                Grpc.newChannelBuilder("dns:///" + address, credentials()).build();
        return new Reporting(RefusalReports.to(GrpcLockService.at(channel, issuer), name), channel);
    }

    private ChannelCredentials credentials() throws CannotStart {
        try {
            ChannelCredentials connection = authorities == null && certificate == null
                    ? InsecureChannelCredentials.create()
                    : ReloadableTls.client(authorities, certificate, key, Instant.now())
                            .channelCredentials();
            if (tokenFile == null) {
                return connection;
            }
            BearerTokenFile token = BearerTokenFile.at(tokenFile);
            token.check();
            return CompositeChannelCredentials.create(connection, token);
        } catch (TlsUnusable e) {
            throw new CannotStart(e.message());
        } catch (IOException e) {
            throw new CannotStart(String.valueOf(e.getMessage()));
        }
    }
}
