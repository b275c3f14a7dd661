package dev.palisade.gateway;

import dev.palisade.admin.AdminServer;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.cli.Commands;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.GuardKeys;
import dev.palisade.contract.cli.LibraryLog;
import dev.palisade.contract.cli.LogFormat;
import dev.palisade.contract.cli.OutOfMemoryExit;
import dev.palisade.contract.cli.Settings;
import dev.palisade.contract.cli.ShutdownOutput;
import dev.palisade.contract.cli.StopSignal;
import dev.palisade.contract.cli.Version;
import dev.palisade.contract.grpc.BearerTokenFile;
import dev.palisade.guard.grpc.GrpcLockService;
import io.grpc.ChannelCredentials;
import io.grpc.CompositeChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code palisade gateway}: reads its file, opens keys and marks, serves until it is told to stop. */
@Command(
        name = "gateway",
        subcommands = {CheckCommand.class, InitCommand.class},
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        sortOptions = false,
        usageHelpAutoWidth = true,
        description = {"A reverse proxy with the guard inside, for HTTP and gRPC services that cannot be changed.", ""},
        footer = {
            "",
            "The guide docs/guides/guard-a-service-you-cannot-change.md lists the keys of the file.",
            "Exit codes: 0 stopped by a signal, 2 wrong usage or a mistake in the file, 3 cannot start, 143 stopped at"
                    + " once by a second signal."
        })
public final class Main implements Callable<Integer>, Settings.OwnConfigFile {
    @Option(names = "--config", paramLabel = "FILE", description = "The gateway's YAML file.")
    private @Nullable String config;

    @Mixin
    private final LogFormat logFormat = new LogFormat();

    @Spec
    private @Nullable CommandSpec spec;

    Main() {}

    /** Exits 0 after SIGTERM, 2 on misuse, 3 when it cannot start. */
    public static void main(String[] args) {
        System.exit(run(args));
    }

    static int run(String... args) {
        if (System.getProperty("logback.configurationFile") == null) {
            System.setProperty("logback.configurationFile", "logback-gateway.xml");
        }
        // The one jar has no versions for it to compare; the build fixes them.
        System.setProperty("com.linecorp.armeria.warnNettyVersions", "false");
        LibraryLog.install((logger, level, message, failure) -> LoggerFactory.getLogger(logger)
                .atLevel(level.intValue() >= 1_000 ? Level.ERROR : level.intValue() >= 900 ? Level.WARN : Level.INFO)
                .setCause(failure)
                .log(message));
        OutOfMemoryExit.install("palisade gateway");
        return Commands.run(new Main(), args);
    }

    @Override
    public Integer call() throws CannotStart, InterruptedException {
        logFormat.apply();
        CommandSpec command = Objects.requireNonNull(spec);
        if (config == null) {
            throw new ParameterException(command.commandLine(), "--config is missing; name the gateway's YAML file");
        }
        try {
            serve(ConfigFile.read(config), command);
            return 0;
        } catch (ConfigRefused e) {
            return e.report(command);
        } catch (IOException e) {
            throw new CannotStart(String.valueOf(e.getMessage()));
        } catch (RejectedException e) {
            throw new CannotStart(e.rejection().message());
        }
    }

    private static void serve(GatewayConfig settings, CommandSpec command)
            throws IOException, InterruptedException, ConfigRefused {
        ChannelCredentials credentials = credentials(settings);
        List<ManagedChannel> lockServers = settings.lockServers().stream()
                .map(address ->
                        Grpc.newChannelBuilder("dns:///" + address, credentials).build())
                .toList();
        try {
            GuardKeys keys = keys(settings);
            Gateway gateway =
                    Gateway.start(settings, keys.verifier(), GrpcLockService.at(lockServers, settings.issuer()));
            StopSignal stop = StopSignal.listen(); // Before anybody is told that it serves, and may stop it.
            announce(command.commandLine().getOut(), settings, keys, gateway);
            stop.await();
            ShutdownOutput.print(System.out, "palisade gateway: stopping");
            if (!gateway.stop()) {
                ShutdownOutput.print(
                        System.err,
                        "palisade gateway: some requests did not end in time and were cut off; whether they were"
                                + " applied is not known, so the next start waits");
            }
            ShutdownOutput.print(System.out, "palisade gateway: stopped");
        } finally {
            lockServers.forEach(ManagedChannel::shutdownNow);
        }
    }

    private static ChannelCredentials credentials(GatewayConfig settings) throws IOException {
        TlsConfig tls = settings.lockServerTls();
        ChannelCredentials connection = tls == null
                ? InsecureChannelCredentials.create()
                : Tls.load(tls::loadClient).channelCredentials();
        if (settings.lockServerToken() == null) {
            return connection;
        }
        BearerTokenFile token = BearerTokenFile.at(settings.lockServerToken());
        token.check();
        return CompositeChannelCredentials.create(connection, token);
    }

    static GuardKeys keys(GatewayConfig settings) throws IOException {
        if (Files.notExists(settings.keyset())) {
            throw new IOException("signing keyset " + settings.keyset()
                    + " does not exist; copy it from the lock server, or name it with keyset");
        }
        return GuardKeys.open(
                settings.keyset(), settings.issuer(), settings.audience(), settings.previousKeyset(), false);
    }

    private static String host(InetSocketAddress configured) {
        String host = configured.getHostString();
        return host.indexOf(':') >= 0 ? "[" + host + "]" : host;
    }

    private static void announce(PrintWriter out, GatewayConfig settings, GuardKeys keys, Gateway gateway) {
        if (settings.observeOnly()) {
            LoggerFactory.getLogger(Main.class)
                    .warn("THE GUARD ONLY OBSERVES: every request is forwarded, stale ones too.");
        }
        out.println("palisade gateway: " + keys);
        out.println("palisade gateway: protects '" + settings.protects() + "' at "
                + String.join(", ", settings.upstream().addresses()) + ", marks in " + settings.marksText());
        AdminServer admin = gateway.admin();
        if (settings.admin() != null && admin != null) {
            out.println("palisade gateway: metrics and health at " + admin.shown(host(settings.admin())));
        }
        out.println("palisade gateway: listening on " + host(settings.listen()) + ":" + gateway.port());
        out.flush();
    }
}
