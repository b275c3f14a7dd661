package dev.palisade.objects;

import dev.palisade.admin.AdminServer;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.cli.Commands;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Defaults;
import dev.palisade.contract.cli.DurationOption;
import dev.palisade.contract.cli.GuardKeys;
import dev.palisade.contract.cli.LibraryLog;
import dev.palisade.contract.cli.Listening;
import dev.palisade.contract.cli.LogFormat;
import dev.palisade.contract.cli.OutOfMemoryExit;
import dev.palisade.contract.cli.ServerTls;
import dev.palisade.contract.cli.Settings;
import dev.palisade.contract.cli.StopSignal;
import dev.palisade.contract.cli.Version;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
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

/** {@code palisade objects}: reads its settings, opens directory, keys and database, serves until it is told to stop. */
@Command(
        name = "objects",
        subcommands = LogCommand.class,
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        sortOptions = false,
        usageHelpAutoWidth = true,
        description = {"Protected object storage: refuses writes that carry a stale fencing token.", ""},
        footer = {
            "",
            "Each option --NAME is also PALISADE_OBJECTS_NAME in the environment and objects.NAME in the config file; "
                    + "flags win over the environment, the environment over the file. A password only there: jdbc-password.",
            "Exit codes: 0 stopped by a signal, 2 wrong usage, 3 cannot start, 143 stopped at once by a second signal."
        })
public final class Main implements Callable<Integer> {
    /** What the guard does with calls. */
    enum GuardSwitch {
        ENFORCE,
        OFF
    }

    // Read by Settings before the command line is parsed; here so that it is known and in the help.
    @SuppressWarnings("UnusedVariable")
    @Option(names = "--config", paramLabel = "FILE", description = "Properties file; flags and environment come first.")
    private @Nullable Path config;

    @Option(
            names = "--host",
            paramLabel = "ADDRESS",
            defaultValue = "127.0.0.1",
            description = "Address to listen on (${DEFAULT-VALUE}).")
    private String host = "";

    @Option(
            names = "--port",
            paramLabel = "PORT",
            defaultValue = "7610",
            description = "Port, 0 for any free one (${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = "--data-dir",
            paramLabel = "DIR",
            description = "Directory of the database (PALISADE_HOME or ~/.palisade, then objects).")
    private @Nullable Path dataDir;

    @Option(names = "--jdbc-url", paramLabel = "URL", description = "Use this database instead of one in --data-dir.")
    private @Nullable String jdbcUrl;

    @Option(names = "--jdbc-user", paramLabel = "NAME", defaultValue = "", description = "User of --jdbc-url.")
    private String jdbcUser = "";

    @Option(names = "--jdbc-password", hidden = true, defaultValue = "")
    private String jdbcPassword = "";

    @Option(
            names = "--keyset",
            paramLabel = "FILE",
            description = "Keys shared with the lock server, made if missing (PALISADE_HOME or ~/.palisade, then"
                    + " keys/sequencers.json).")
    private @Nullable Path keyset;

    @Option(
            names = "--issuer",
            paramLabel = "NAME",
            defaultValue = Defaults.ISSUER,
            description = "Lock service whose sequencers are accepted (${DEFAULT-VALUE}).")
    private String issuer = "";

    @Option(
            names = "--audience",
            paramLabel = "NAME",
            description =
                    "Guard group of the lock server whose sequencers are accepted; --keyset is then that group's, or its"
                            + " public keys.")
    private @Nullable String audience;

    @Option(
            names = "--previous-keyset",
            paramLabel = "FILE",
            description =
                    "Sequencers without audience by these keys are accepted, too: while locks move to the group of"
                            + " --audience.")
    private @Nullable Path previousKeyset;

    @Option(
            names = "--lock-template",
            paramLabel = "TEXT",
            defaultValue = "{key}",
            description =
                    "Which lock guards an object: text with {key}, {key:N} for its first N parts, or neither for one lock"
                            + " (${DEFAULT-VALUE}).")
    private String lockTemplate = "";

    @Option(
            names = "--object-bytes-max",
            paramLabel = "N",
            defaultValue = "1048576",
            description = "Largest object in bytes, at most 16777216 (${DEFAULT-VALUE}).")
    private int objectBytesMax;

    @Option(
            names = "--lock-wait",
            paramLabel = "TIME",
            defaultValue = "5s",
            converter = DurationOption.class,
            description = "How long a call waits for calls of other grants (${DEFAULT-VALUE}).")
    private Duration lockWait = Duration.ZERO;

    @Option(
            names = "--log-age-max",
            paramLabel = "TIME",
            defaultValue = "720h",
            converter = DurationOption.class,
            description = "How long the applied-log keeps a call (${DEFAULT-VALUE}).")
    private Duration logAgeMax = Duration.ZERO;

    @Option(
            names = "--log-rows-max",
            paramLabel = "N",
            defaultValue = "10000000",
            description = "How many calls the applied-log keeps at most (${DEFAULT-VALUE}).")
    private long logRowsMax;

    @Option(
            names = "--drain",
            paramLabel = "TIME",
            defaultValue = "10s",
            converter = DurationOption.class,
            description = "How long a stop waits for running calls (${DEFAULT-VALUE}).")
    private Duration drain = Duration.ZERO;

    @Option(
            names = "--guard",
            paramLabel = "enforce|off",
            defaultValue = "enforce",
            description = "enforce, or off: admit everything, for demonstrations only (${DEFAULT-VALUE}).")
    private String guard = "";

    @Mixin
    private final LogFormat logFormat = new LogFormat();

    @Mixin
    private final ServerTls tls = new ServerTls();

    @Mixin
    private final LockServerOptions lockServer = new LockServerOptions();

    @Option(
            names = "--admin-port",
            paramLabel = "PORT",
            description =
                    "Serve /metrics, /health/live and /health/ready by HTTP on this port; 0 takes a free one. With the "
                            + "TLS files of --port. Default: off")
    private @Nullable Integer adminPort;

    @Option(
            names = "--admin-host",
            paramLabel = "ADDRESS",
            defaultValue = "127.0.0.1",
            description = "Address of --admin-port (${DEFAULT-VALUE}).")
    private String adminHost = "";

    @Option(
            names = "--insecure",
            description = "Allow an address that other machines reach, though not every client is verified"
                    + " (--tls-client-ca).")
    private boolean insecure;

    @Option(names = "--allow-remote", hidden = true)
    private boolean allowRemote;

    @Spec
    private @Nullable CommandSpec spec;

    Main() {}

    /** Exits 0 after SIGTERM, 2 on misuse, 3 when it cannot start. */
    public static void main(String[] args) {
        System.exit(run(args));
    }

    static int run(String... args) {
        if (System.getProperty("logback.configurationFile") == null) {
            System.setProperty("logback.configurationFile", "logback-objects.xml");
        }
        // Netty's versions are one, and hard to see in one jar.
        System.setProperty("com.linecorp.armeria.warnNettyVersions", "false");
        LibraryLog.install((logger, level, message, failure) -> LoggerFactory.getLogger(logger)
                .atLevel(level.intValue() >= 1_000 ? Level.ERROR : level.intValue() >= 900 ? Level.WARN : Level.INFO)
                .setCause(failure)
                .log(message));
        OutOfMemoryExit.install("palisade objects");
        return Commands.run(new Main(), args);
    }

    @Override
    public Integer call() throws CannotStart, InterruptedException, IOException {
        logFormat.apply();
        GuardSwitch guardSwitch = guardSwitch();
        LockTemplate template = checked(() -> LockTemplate.parse(lockTemplate));
        ObjectLimits limits = checked(() -> new ObjectLimits(objectBytesMax, lockWait));
        checked(() -> new LogRetention(logAgeMax, logRowsMax));
        if (drain.compareTo(Duration.ofMinutes(5)) > 0) {
            throw misuse(named("--drain") + " is " + DurationOption.text(drain) + "; use 0s to 5m");
        }
        refusePasswordOnTheCommandLine();
        tls.check(command());
        lockServer.check(command());
        if (allowRemote) {
            throw misuse(named("--allow-remote") + " is now called --insecure");
        }
        InetSocketAddress address = address("--host", host, "--port", port);
        InetSocketAddress admin =
                adminPort == null ? null : address("--admin-host", adminHost, "--admin-port", adminPort);
        GuardKeys keys = keys();
        if (jdbcUrl != null) {
            if (!jdbcUrl.startsWith("jdbc:postgresql:") && !jdbcUrl.startsWith("jdbc:h2:")) {
                throw misuse(
                        "--jdbc-url is not one of a database this release knows; use jdbc:postgresql: or jdbc:h2:");
            }
            serve(address, admin, jdbcUrl, template, limits, guardSwitch, keys, null);
            return 0;
        }
        Path directory = dataDir == null ? Defaults.home().resolve("objects") : dataDir;
        try (DataDirectory data = DataDirectory.hold(directory)) {
            data.refuseIfLost();
            data.restrict();
            serve(address, admin, data.jdbcUrl(), template, limits, guardSwitch, keys, data);
        }
        return 0;
    }

    private void serve(
            InetSocketAddress address,
            @Nullable InetSocketAddress admin,
            String url,
            LockTemplate template,
            ObjectLimits limits,
            GuardSwitch guardSwitch,
            GuardKeys keys,
            @Nullable DataDirectory data)
            throws CannotStart, InterruptedException {
        ObjectsServer.Options options = new ObjectsServer.Options(
                address,
                admin,
                tls.load(Instant.now()),
                url,
                jdbcUser,
                jdbcPassword,
                issuer,
                template,
                limits,
                new LogRetention(logAgeMax, logRowsMax),
                guardSwitch == GuardSwitch.ENFORCE,
                lockServer.open(issuer, "palisade objects at " + bracketed(host) + ":" + address.getPort()));
        ObjectsServer server = ObjectsServer.start(options, keys.verifier());
        if (data != null) {
            data.markMade();
        }
        StopSignal stop = StopSignal.listen(); // Before the port is announced, since a signal may follow.
        if (options.tls() != null) {
            command().commandLine().getOut().println("palisade objects: " + tls.shown());
        }
        announce(server, url, template, keys, guardSwitch);
        stop.await();
        GracefulShutdown.run(server, drain);
    }

    private void announce(
            ObjectsServer server, String url, LockTemplate template, GuardKeys keys, GuardSwitch guardSwitch) {
        if (guardSwitch == GuardSwitch.OFF) {
            LoggerFactory.getLogger(Main.class)
                    .warn("THE GUARD IS OFF: every call is admitted, stale ones too. For demonstrations only.");
        }
        PrintWriter out = command().commandLine().getOut();
        out.println("palisade objects: database " + ObjectsServer.withoutSecrets(url));
        out.println("palisade objects: " + keys);
        out.println("palisade objects: lock template " + template + ", guard "
                + guardSwitch.name().toLowerCase(Locale.ROOT));
        AdminServer admin = server.admin();
        if (admin != null) {
            out.println("palisade objects: metrics and health at " + admin.shown(bracketed(adminHost)));
        }
        out.println("palisade objects: listening on " + bracketed(host) + ":" + server.port());
        out.flush();
    }

    private static String bracketed(String host) {
        return host.indexOf(':') >= 0 ? "[" + host + "]" : host;
    }

    private GuardKeys keys() throws CannotStart {
        Path path = keyset == null ? Defaults.keyset() : keyset;
        if (audience != null) {
            String group = audience;
            checked(() -> Sequencer.requireAudience(group));
        } else if (previousKeyset != null) {
            throw misuse(
                    named("--previous-keyset") + " needs --audience too: without it, name that keyset with --keyset");
        }
        try {
            return GuardKeys.open(path, issuer, audience, previousKeyset, audience == null);
        } catch (IOException e) {
            throw new CannotStart(String.valueOf(e.getMessage()));
        }
    }

    private InetSocketAddress address(String hostOption, String host, String portOption, int port) throws CannotStart {
        if (port < 0 || port > 65_535) {
            throw misuse(named(portOption) + " is " + port + "; use 0 to 65535");
        }
        InetSocketAddress address = new InetSocketAddress(host, port);
        if (!address.isUnresolved()
                && !address.getAddress().isLoopbackAddress()
                && !insecure
                && !tls.verifiesClients()) {
            throw misuse(named(hostOption) + " " + host
                    + " would serve other machines and not verify them; use a loopback address, verify clients with"
                    + " --tls-client-ca, or say --insecure");
        }
        return Listening.on(host, port, hostOption, portOption);
    }

    private void refusePasswordOnTheCommandLine() {
        if (command().commandLine().getParseResult().hasMatchedOption("--jdbc-password")) {
            throw misuse("a password on the command line is seen by everyone on this machine; put it in"
                    + " PALISADE_OBJECTS_JDBC_PASSWORD or in the config file");
        }
    }

    private GuardSwitch guardSwitch() {
        return switch (guard) {
            case "enforce" -> GuardSwitch.ENFORCE;
            case "off" -> GuardSwitch.OFF;
            default -> throw misuse(named("--guard") + " is '" + guard + "'; use enforce or off");
        };
    }

    private <T> T checked(Callable<T> setting) {
        try {
            return setting.call();
        } catch (Exception e) {
            throw misuse(String.valueOf(e.getMessage()));
        }
    }

    /** An option, with where its value came from. */
    private String named(String option) {
        return Settings.named(command(), option);
    }

    private ParameterException misuse(String message) {
        return new ParameterException(command().commandLine(), message);
    }

    private CommandSpec command() {
        CommandSpec known = spec;
        if (known == null) {
            throw new IllegalStateException("not parsed yet");
        }
        return known;
    }
}
