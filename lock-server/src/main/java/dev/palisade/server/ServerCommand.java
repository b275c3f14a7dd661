package dev.palisade.server;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Defaults;
import dev.palisade.contract.cli.DurationOption;
import dev.palisade.contract.cli.LogFormat;
import dev.palisade.contract.cli.ServerTls;
import dev.palisade.contract.cli.Settings;
import dev.palisade.contract.cli.StopSignal;
import dev.palisade.contract.cli.Version;
import dev.palisade.server.store.embedded.Durability;
import dev.palisade.server.store.postgresql.PostgresUri;
import dev.palisade.server.store.redis.RedisLinkConfig;
import dev.palisade.server.store.redis.RedisLogConfig;
import dev.palisade.server.store.redis.StoreUri;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code palisade server}: the options of a lock server. Each is also a key of the config file and an environment variable. */
@Command(
        name = "server",
        description = {
            "Grants leases with rising fencing tokens.",
            "",
            "Locks are kept in the data directory and survive a kill -9, one process per directory; or in Redis, with one active server and standbys. "
                    + "The signing keyset is shared with the guards; it is made, readable by its owner only, at the first start.",
            "",
        },
        footer = {
            "",
            "Each option --NAME is also PALISADE_SERVER_NAME in the environment and server.NAME in the config file; "
                    + "flags win over the environment, the environment over the file.",
            "Exit codes: 0 stopped by a signal, 2 wrong usage, 3 cannot start, 70 could not make data durable, "
                    + "143 stopped at once by a second signal."
        },
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        sortOptions = false,
        usageHelpAutoWidth = true)
final class ServerCommand implements Callable<Integer> {
    private static final Pattern ADDRESS = Pattern.compile(
            "([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\]):([1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])");
    private static final Duration CLAIM_DEFAULT = Duration.ofSeconds(2);
    private static final Duration CLAIM_MIN = Duration.ofSeconds(1);
    private static final Duration CLAIM_MAX = Duration.ofSeconds(10);

    @Spec
    @Nullable
    CommandSpec spec;

    @Option(
            names = "--host",
            paramLabel = "ADDRESS",
            defaultValue = "127.0.0.1",
            description = "Address to listen on. Default: ${DEFAULT-VALUE}")
    String host = "127.0.0.1";

    @Option(
            names = "--port",
            paramLabel = "PORT",
            defaultValue = "7600",
            description = "Port to listen on; 0 takes a free one. Default: ${DEFAULT-VALUE}")
    int port = 7600;

    @Option(
            names = "--data-dir",
            paramLabel = "DIR",
            description = "Where locks are kept. Default: $PALISADE_HOME/server, or ~/.palisade/server")
    Path dataDir = Defaults.home().resolve("server");

    @Option(
            names = "--durability",
            paramLabel = "synced|process",
            defaultValue = "synced",
            description =
                    "What a grant in the data directory survives: synced, a power cut; process, a kill -9, and with less waiting. "
                            + "Default: ${DEFAULT-VALUE}")
    Durability durability = Durability.SYNCED;

    @Option(
            names = "--store",
            paramLabel = "URI",
            description = {
                "Keep locks in Redis or PostgreSQL instead. Several servers may share them: one is active, the others are standbys. "
                        + "redis://[USER:PASSWORD@]HOST[:PORT], rediss:// for TLS, redis-sentinel://HOST:PORT,HOST:PORT#PRIMARY, redis-cluster://HOST:PORT,HOST:PORT; "
                        + "postgresql://USER:PASSWORD@HOST[:PORT]/DATABASE, with ?sslmode=verify-full for TLS. "
                        + "With a password, better in the environment or the config file than here."
            })
    @Nullable
    String store;

    @Option(
            names = "--store-prefix",
            paramLabel = "TEXT",
            defaultValue = "palisade",
            description =
                    "Begins every key in Redis, and names the log in PostgreSQL; servers with the same one serve the same locks. Default: ${DEFAULT-VALUE}")
    String storePrefix = "palisade";

    @Option(
            names = "--store-timeout",
            paramLabel = "TIME",
            defaultValue = "2s",
            converter = DurationOption.class,
            description =
                    "How long the store may take to answer before its connection is given up. Default: ${DEFAULT-VALUE}")
    Duration storeTimeout = Duration.ofSeconds(2);

    @Option(
            names = "--failover-grace",
            paramLabel = "TIME",
            defaultValue = "10s",
            converter = DurationOption.class,
            description =
                    "After the store may have lost leases: how long nothing new is granted, so that holders come back first. 0s is safe "
                            + "where a guard refuses late writes. Default: ${DEFAULT-VALUE}")
    Duration failoverGrace = Duration.ofSeconds(10);

    @Option(
            names = "--init",
            description =
                    "This store is new to Palisade: what it does not know was never there, and needs no grace; and a missing keyset is made.")
    boolean init;

    @Option(
            names = "--from-functions",
            description =
                    "Take the place of servers of an earlier release, which kept locks in functions of Redis, under the same "
                            + "--store-prefix. They decide nothing from then on; holders come back within --failover-grace.")
    boolean fromFunctions;

    @Option(
            names = "--advertise",
            paramLabel = "HOST:PORT",
            description =
                    "With --store: where clients reach this server; standbys name it to clients. Default: --host and --port")
    @Nullable
    String advertise;

    @Option(
            names = "--claim",
            paramLabel = "TIME",
            defaultValue = "2s",
            converter = DurationOption.class,
            description = "With --store: how long a silent active server stays active. The same for all servers. "
                    + "Default: ${DEFAULT-VALUE}")
    Duration claim = CLAIM_DEFAULT;

    @Option(
            names = "--after-loss",
            paramLabel = "resume|wait",
            defaultValue = "wait",
            description =
                    "When the store lost data: wait grants nothing for --failover-grace while holders come back; resume "
                            + "writes the memory of the active server back, and continues. Default: ${DEFAULT-VALUE}")
    AfterLoss afterLoss = AfterLoss.WAIT;

    @Option(
            names = "--keyset",
            paramLabel = "FILE",
            description =
                    "The keys that sign sequencers. Default: $PALISADE_HOME/keys/sequencers.json, or ~/.palisade/keys/sequencers.json")
    Path keyset = Defaults.keyset();

    @Option(
            names = "--guard-groups",
            paramLabel = "FILE",
            description =
                    "Locks whose sequencers are signed with keysets of their own, so that a guard needs only that of its"
                            + " group. A changed file is used within 2 s.")
    @Nullable
    Path guardGroups;

    @Option(
            names = "--issuer",
            paramLabel = "NAME",
            defaultValue = Defaults.ISSUER,
            description =
                    "The name of this lock service in its sequencers; guards accept one. Default: ${DEFAULT-VALUE}")
    String issuer = Defaults.ISSUER;

    @Option(
            names = "--grace",
            paramLabel = "TIME",
            defaultValue = "1s",
            converter = DurationOption.class,
            description = "How long after its connection broke a client's locks are freed. Default: ${DEFAULT-VALUE}")
    Duration grace = Duration.ofSeconds(1);

    @Option(
            names = "--drain",
            paramLabel = "TIME",
            defaultValue = "5s",
            converter = DurationOption.class,
            description = "How long a stop may take to answer what was asked. Default: ${DEFAULT-VALUE}")
    Duration drain = Duration.ofSeconds(5);

    @Option(
            names = "--locks-max",
            paramLabel = "N",
            description =
                    "Lock names known at one time; with --store, by the active server. Default: as many as take half of the heap, at"
                            + " most 1000000")
    @Nullable
    Integer locksMax;

    @Mixin
    final ServerTls tls = new ServerTls();

    @Mixin
    final LogFormat logFormat = new LogFormat();

    @Mixin
    final ServerAccess access = new ServerAccess();

    @Option(
            names = "--admin-port",
            paramLabel = "PORT",
            description =
                    "Serve /metrics, /health/live and /health/ready by HTTP on this port; 0 takes a free one. With the "
                            + "TLS files and the policy of the lock port. Default: off")
    @Nullable
    Integer adminPort;

    @Option(
            names = "--admin-host",
            paramLabel = "ADDRESS",
            defaultValue = "127.0.0.1",
            description = "Address of --admin-port. Default: ${DEFAULT-VALUE}")
    String adminHost = "127.0.0.1";

    @Option(
            names = "--insecure",
            description =
                    "Listen on an address other machines can reach without TLS, or without --tls-client-ca, --users and --jwt-issuer: "
                            + "any of them can acquire and release every lock.")
    boolean insecure;

    @Option(names = "--allow-remote", hidden = true)
    boolean allowRemote;

    @Option(
            names = "--config",
            paramLabel = "FILE",
            description = "Settings in Java properties format. Also $PALISADE_CONFIG")
    @Nullable
    Path config;

    @Override
    public Integer call() throws CannotStart, InterruptedException {
        logFormat.apply();
        check(port >= 0 && port <= 65_535, "--port", "is " + port + "; use 0 to 65535");
        check(
                !grace.isNegative() && grace.compareTo(Duration.ofMinutes(5)) <= 0,
                "--grace",
                "is " + DurationOption.text(grace) + "; use 0s to 5m");
        check(
                drain.compareTo(Duration.ofMinutes(5)) <= 0,
                "--drain",
                "is " + DurationOption.text(drain) + "; use 0s to 5m");
        check(
                locksMax == null || (locksMax >= 1 && locksMax <= 100_000_000),
                "--locks-max",
                "is " + locksMax + "; use 1 to 100000000");
        check(
                !issuer.isEmpty() && issuer.length() <= 64 && issuer.chars().allMatch(c -> c > ' ' && c < 127),
                "--issuer",
                "is '" + issuer + "'; use 1 to 64 printable ASCII characters");
        tls.check(java.util.Objects.requireNonNull(spec));
        access.check(spec, tls.verifiesClients());
        check(!allowRemote, "--allow-remote", "is now called --insecure");
        checkReach("--host", host);
        check(
                adminPort == null || (adminPort >= 0 && adminPort <= 65_535),
                "--admin-port",
                "is " + adminPort + "; use 0 to 65535");
        checkReach("--admin-host", adminHost);
        check(
                RedisLogConfig.isPrefix(storePrefix),
                "--store-prefix",
                "is \"" + storePrefix + "\"; use 1 to 64 letters, digits and . _ : -");
        check(
                storeTimeout.compareTo(RedisLinkConfig.TIMEOUT_MIN) >= 0
                        && storeTimeout.compareTo(RedisLinkConfig.TIMEOUT_MAX) <= 0,
                "--store-timeout",
                "is " + DurationOption.text(storeTimeout) + "; use 10ms to 1m");
        check(
                failoverGrace.compareTo(Duration.ofMinutes(5)) <= 0,
                "--failover-grace",
                "is " + DurationOption.text(failoverGrace) + "; use 0s to 5m");
        check(store != null || !init, "--init", "is for a store that servers share; add --store, or leave it out");
        checkStore();
        checkShared();
        StopSignal stop = StopSignal.listen(); // Before anybody is told that it serves, and may stop it.
        RunningServer server = RunningServer.start(this);
        try {
            stop.await();
        } finally {
            server.close();
        }
        return 0;
    }

    /** A URI that cannot be used is a usage error: a service manager must not repeat the start. */
    private void checkStore() {
        if (store == null) {
            return;
        }
        try {
            Object unused = PostgresUri.isOne(store) ? PostgresUri.parse(store) : StoreUri.parse(store);
        } catch (IllegalArgumentException e) {
            check(false, "--store", String.valueOf(e.getMessage()));
        }
    }

    private void checkShared() {
        boolean shared = store != null;
        check(
                afterLoss == AfterLoss.WAIT || shared,
                "--after-loss",
                "is for a store that servers share; add --store, or leave it out");
        check(
                !fromFunctions || (store != null && !PostgresUri.isOne(store)),
                "--from-functions",
                "is for a store in Redis; add --store, or leave it out");
        check(
                !fromFunctions || !init,
                "--from-functions",
                "and --init contradict each other: leave out --init, which says that nothing was there");
        check(
                advertise == null || shared,
                "--advertise",
                "is for a store that servers share; add --store, or leave it out");
        check(
                advertise == null || ADDRESS.matcher(advertise).matches(),
                "--advertise",
                "is '" + advertise + "'; use HOST:PORT, [HOST]:PORT for IPv6, a PORT from 1 to 65535");
        check(
                advertise == null || !(advertise.startsWith("0.0.0.0:") || advertise.startsWith("[::]:")),
                "--advertise",
                "is " + advertise + ", to which no client can connect; name an address of this machine");
        check(
                claim.compareTo(CLAIM_MIN) >= 0 && claim.compareTo(CLAIM_MAX) <= 0,
                "--claim",
                "is " + DurationOption.text(claim) + "; use 1s to 10s");
        check(
                claim.equals(CLAIM_DEFAULT) || shared,
                "--claim",
                "is for a store that servers share; add --store, or leave it out");
        check(
                !shared || advertise != null || (port != 0 && !isWildcard(host)),
                "--advertise",
                "is needed, because clients cannot connect to " + host + ":" + port
                        + "; name the HOST:PORT by which they reach this server");
    }

    private static boolean isWildcard(String address) {
        InetSocketAddress resolved = new InetSocketAddress(address, 0);
        return !resolved.isUnresolved() && resolved.getAddress().isAnyLocalAddress();
    }

    /** Where clients reach this server. */
    String advertised() {
        return advertise != null ? advertise : (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    }

    /** An unresolved host is told later, and better, when the address is looked at. */
    private void checkReach(String option, String address) {
        InetSocketAddress resolved = new InetSocketAddress(address, 0);
        check(
                insecure
                        || tls.verifiesClients()
                        || (tls.isOn() && access.hasTokens())
                        || resolved.isUnresolved()
                        || resolved.getAddress().isLoopbackAddress(),
                option,
                address + " can be reached by other machines and clients are not verified by TLS;"
                        + " use 127.0.0.1, use --tls-cert with --tls-client-ca, --users or --jwt-issuer, or add --insecure");
    }

    private void check(boolean right, String option, String message) {
        if (!right) {
            CommandSpec command = java.util.Objects.requireNonNull(spec);
            throw new ParameterException(command.commandLine(), Settings.named(command, option) + " " + message);
        }
    }
}
