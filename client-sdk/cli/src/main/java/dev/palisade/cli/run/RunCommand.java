package dev.palisade.cli.run;

import dev.palisade.cli.call.LockServers;
import dev.palisade.cli.call.RetryClock;
import dev.palisade.cli.term.ConnectionOptions;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.cli.watchdog.Executable;
import dev.palisade.cli.watchdog.TerminationPolicy;
import dev.palisade.client.AcquireOptions;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.DurationOption;
import dev.palisade.contract.cli.Version;
import io.grpc.ChannelCredentials;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.ZoneId;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code palisade run LOCK -- COMMAND}: checks the options; {@link RunCoordinator} does the work. */
@Command(
        name = "run",
        customSynopsis = "palisade run [OPTION...] LOCK -- COMMAND [ARGUMENT...]",
        description = {
            "Runs a command while holding a lock, and terminates it when the lock is lost.",
            "",
            "Waits for LOCK, runs the command, and releases the lock when the command and all processes of its group have "
                    + "ended. The command's environment has PALISADE_LOCK, PALISADE_TOKEN and PALISADE_SEQUENCER, the signed "
                    + "fencing token that a guard checks. A supervisor process, the watchdog, terminates the command's process "
                    + "group if the lease cannot be renewed in time or if this process is stopped or killed.",
            "",
        },
        footer = {
            "",
            "Exit codes: the command's own, or",
            "    2  usage error                   122  lock lost or release requested;",
            "  119  rejected by the lock server        the command was terminated",
            "  120  the lock is taken (--wait 0s) 123  no lock server reachable",
            "  121  not granted within --wait     125  command not started or not watched",
            "  126  not executable                127  command not found",
            "  128+n terminated by signal n",
            "",
            "Examples:",
            "  palisade run backup/db1 -- pg_dump -f db1.sql db1",
            "  palisade run nightly --wait 0s -- ./nightly.sh    skip if it is running",
            "  palisade run deploy --wait 10m --ttl 30s -- make deploy",
            "  palisade run jobs --shared -- ./reader.sh",
            "",
            "A frozen machine cannot kill its command. Data that must never be written late needs a guard.",
        },
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
public final class RunCommand implements Callable<Integer> {
    private static final Duration WAIT_ENDLESS = Duration.ofDays(400_000);
    /**
     * Margin so that the command has ended before the lock is free, even if the watchdog is stopped and the machine is
     * loaded.
     */
    private static final Duration LOCK_DELAY_MARGIN = Duration.ofSeconds(2);

    private static final Duration KILL_AFTER_MAX = Duration.ofSeconds(59);
    private static final Duration TTL_MIN = Duration.ofSeconds(1);
    private static final Duration TTL_MAX = Duration.ofMinutes(5);
    private static final Duration LOCK_DELAY_MAX = Duration.ofSeconds(60);
    private static final Duration AT_LEAST_FOR_MAX = Duration.ofHours(1);
    private static final int PURPOSE_LENGTH_MAX = 60;

    /** Signal to the command after a lost lock. */
    enum OnLost {
        TERM,
        KILL
    }

    /** Reaction to a release request. */
    enum OnReleaseRequest {
        TERM,
        IGNORE
    }

    private final @Nullable List<String> command;

    @Parameters(index = "0", paramLabel = "LOCK", description = "Name of the lock: 1 to 256 bytes.")
    String name = "";

    @Parameters(index = "1..*", hidden = true)
    List<String> stray = List.of();

    @Mixin
    ConnectionOptions connection = new ConnectionOptions();

    @Option(
            names = "--wait",
            paramLabel = "TIME",
            converter = DurationOption.class,
            description = "How long to wait for the lock; 0s tries once. Default: without limit")
    Duration wait = WAIT_ENDLESS;

    @Option(
            names = "--ttl",
            paramLabel = "TIME",
            defaultValue = "10s",
            converter = DurationOption.class,
            description = "Lease duration: how long the lock survives without a renewal. Default: ${DEFAULT-VALUE}")
    Duration ttl = Duration.ofSeconds(10);

    @Option(names = "--shared", description = "Share the lock with other --shared holders.")
    boolean shared;

    @Option(
            names = "--on-lost",
            paramLabel = "TERM|KILL",
            defaultValue = "TERM",
            description = "Signal to the command when the lock is lost. Default: ${DEFAULT-VALUE}")
    OnLost onLost = OnLost.TERM;

    @Option(
            names = "--kill-after",
            paramLabel = "TIME",
            defaultValue = "3s",
            converter = DurationOption.class,
            description = "Time from SIGTERM to SIGKILL. Default: ${DEFAULT-VALUE}")
    Duration killAfter = Duration.ofSeconds(3);

    @Option(
            names = "--lock-delay",
            paramLabel = "TIME",
            converter = DurationOption.class,
            description = "How long a lost lock stays unavailable. Default: --kill-after plus 2s, at most 1m")
    @Nullable
    Duration lockDelay;

    @Option(
            names = "--at-least-for",
            paramLabel = "TIME",
            defaultValue = "0s",
            converter = DurationOption.class,
            description =
                    "Minimum hold time: how long after the grant the lock stays unavailable to others, even if the "
                            + "command ends earlier. Default: ${DEFAULT-VALUE}")
    Duration atLeastFor = Duration.ZERO;

    @Option(
            names = "--on-release-request",
            paramLabel = "TERM|IGNORE",
            defaultValue = "TERM",
            description = "Reaction to palisade request-release. Default: ${DEFAULT-VALUE}")
    OnReleaseRequest onReleaseRequest = OnReleaseRequest.TERM;

    @Option(
            names = "--purpose",
            paramLabel = "TEXT",
            description = "Free-text reason shown by describe and list. Default: the program's name")
    @Nullable
    String purpose;

    @Option(names = "--quiet", description = "Print nothing about waiting, nor that the lock is taken (120).")
    boolean quiet;

    @Spec
    @Nullable
    CommandSpec spec;

    /** @param command arguments after {@code --}; null if there was no {@code --} */
    public RunCommand(@Nullable List<String> command) {
        this.command = command;
    }

    @Override
    public Integer call() throws Failed, InterruptedException {
        List<String> line = checkedCommand();
        try {
            new LockName(name);
        } catch (RejectedException e) {
            throw usageError(e.rejection().message());
        }
        within("--kill-after", killAfter, Duration.ZERO, KILL_AFTER_MAX);
        within("--ttl", ttl, TTL_MIN, TTL_MAX);
        if (lockDelay != null) {
            within("--lock-delay", lockDelay, Duration.ZERO, LOCK_DELAY_MAX);
        }
        within("--at-least-for", atLeastFor, Duration.ZERO, AT_LEAST_FOR_MAX);
        if (shared && !atLeastFor.isZero()) {
            throw usageError("--at-least-for needs a lock that is not --shared; use one of them");
        }
        Duration timeout = connection.timeout(Objects.requireNonNull(spec));
        Executable program = Executable.find(line.get(0), System.getenv("PATH"));
        if (!program.runnable()) {
            boolean there = program.path() != null;
            System.err.println("palisade run: '" + TerminalText.text(line.get(0)) + "' "
                    + (there
                            ? "is not executable; run chmod +x on it"
                            : "was not found; use a program on the PATH, or a path"));
            return there ? ExitCodes.NOT_EXECUTABLE : ExitCodes.NOT_FOUND;
        }
        try {
            RunCoordinator.Request request = new RunCoordinator.Request(
                    name,
                    options(line),
                    line,
                    new TerminationPolicy(onLost == OnLost.KILL, killAfter),
                    onReleaseRequest == OnReleaseRequest.IGNORE,
                    !wait.isZero() && wait.compareTo(WAIT_ENDLESS) < 0,
                    connection.address(),
                    timeout);
            RunOutput output = new RunOutput(System.err, quiet, Clock.system(ZoneId.systemDefault()));
            ChannelCredentials credentials = connection.credentials(Objects.requireNonNull(spec));
            return new RunCoordinator(request, output, () -> onlyStandbys(credentials, timeout))
                    .run(connection
                            .client(Objects.requireNonNull(spec), timeout.minus(RunCoordinator.noticeAfter(timeout)))
                            .build());
        } catch (RejectedException e) {
            throw usageError(e.rejection().message());
        } catch (IllegalArgumentException e) {
            throw usageError(String.valueOf(e.getMessage()));
        }
    }

    private Optional<String> onlyStandbys(ChannelCredentials credentials, Duration timeout) {
        try (LockServers servers = new LockServers(connection.address(), credentials, timeout, RetryClock.SYSTEM)) {
            return servers.onlyStandbys(name);
        } catch (Failed e) {
            return Optional.empty(); // Of an address that the client has rejected already.
        }
    }

    private void within(String option, Duration given, Duration least, Duration most) {
        ConnectionOptions.within(Objects.requireNonNull(spec), option, given, least, most);
    }

    private List<String> checkedCommand() {
        List<String> line = command;
        if (line == null || line.isEmpty()) {
            throw usageError(
                    stray.isEmpty()
                            ? "no command; put it after --: palisade run " + name + " -- COMMAND"
                            : "put the command after --: palisade run " + name + " -- " + String.join(" ", stray));
        }
        if (!stray.isEmpty()) {
            throw usageError("unexpected argument '" + stray.get(0) + "'; put the command after --");
        }
        return line;
    }

    private AcquireOptions options(List<String> line) {
        String program = String.valueOf(Path.of(line.get(0)).getFileName());
        String shown = program.length() <= PURPOSE_LENGTH_MAX ? program : program.substring(0, PURPOSE_LENGTH_MAX);
        return AcquireOptions.waiting(wait)
                .mode(shared ? Mode.SHARED : Mode.EXCLUSIVE)
                .ttl(ttl)
                .lockDelay(lockDelay())
                .lockAtLeastFor(atLeastFor)
                .purpose(purpose == null ? shown : purpose);
    }

    Duration lockDelay() {
        if (lockDelay != null) {
            return lockDelay;
        }
        Duration needed = killAfter.plus(LOCK_DELAY_MARGIN);
        return needed.compareTo(LOCK_DELAY_MAX) > 0 ? LOCK_DELAY_MAX : needed;
    }

    private ParameterException usageError(String message) {
        return new ParameterException(Objects.requireNonNull(spec).commandLine(), message);
    }
}
