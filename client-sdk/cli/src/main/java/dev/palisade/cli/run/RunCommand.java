package dev.palisade.cli.run;

import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.Plain;
import dev.palisade.cli.term.Service;
import dev.palisade.cli.watchdog.Ending;
import dev.palisade.cli.watchdog.Executable;
import dev.palisade.client.AcquireOptions;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.cli.DurationOption;
import dev.palisade.contract.cli.Settings;
import dev.palisade.contract.cli.Version;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.ZoneId;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code palisade run NAME -- COMMAND}: checks what was asked for; {@link LockedRun} does it. */
@Command(
        name = "run",
        customSynopsis = "palisade run [OPTION...] NAME -- COMMAND [ARGUMENT...]",
        description = {
            "Runs a command while holding a lock, and ends it when the lock is lost.",
            "",
            "Waits for the lock NAME, runs the command and gives the lock back when the command, and whatever it left "
                    + "running, has ended. The command finds in its environment PALISADE_LOCK, PALISADE_TOKEN and "
                    + "PALISADE_SEQUENCER, the proof that a guard asks for. A process of its own watches over it: if the lease "
                    + "cannot be renewed in time, or this command is stopped or killed, it ends the command's process group.",
            "",
        },
        footer = {
            "",
            "Exit codes: the command's own, or",
            "  120  the lock is taken (--wait 0s)     125  the command could not be run or",
            "  121  not granted within --wait              watched",
            "  122  lost or asked back: the command   126  the command is not executable",
            "       was told to end                   127  the command was not found",
            "  123  no lock server could say          128+n ended by signal n",
            "                                         2    misuse",
            "",
            "Examples:",
            "  palisade run backup/db1 -- pg_dump -f db1.sql db1",
            "  palisade run nightly --wait 0s -- ./nightly.sh    not if another is at it",
            "  palisade run deploy --wait 10m --ttl 30s -- make deploy",
            "  palisade run jobs --shared -- ./reader.sh",
            "",
            "No kill reaches a machine that hangs: what must never be written late needs a guard, which compares tokens.",
        },
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
public final class RunCommand implements Callable<Integer> {
    private static final Duration WAIT_ENDLESS = Duration.ofDays(400_000);
    private static final Duration PATIENCE = Duration.ofSeconds(8);
    private static final Duration SPARE = Duration.ofSeconds(1);
    private static final Duration KILL_AFTER_MAX = Duration.ofSeconds(59);
    private static final Duration TTL_MIN = Duration.ofSeconds(1);
    private static final Duration TTL_MAX = Duration.ofMinutes(5);
    private static final Duration LOCK_DELAY_MAX = Duration.ofSeconds(60);
    private static final int PURPOSE_LENGTH_MAX = 60;

    /** What a lost lock means for the command. */
    enum OnLost {
        TERM,
        KILL
    }

    /** What it means for the command when somebody asks for the lock. */
    enum OnRevoke {
        TERM,
        IGNORE
    }

    private final @Nullable List<String> command;

    @Parameters(index = "0", paramLabel = "NAME", description = "The lock: 1 to 256 bytes.")
    String name = "";

    @Parameters(index = "1..*", hidden = true)
    List<String> stray = List.of();

    @Mixin
    Service service = new Service();

    @Option(
            names = "--wait",
            paramLabel = "TIME",
            converter = DurationOption.class,
            description = "How long to wait for the lock; 0s tries once. Default: for ever")
    Duration wait = WAIT_ENDLESS;

    @Option(
            names = "--ttl",
            paramLabel = "TIME",
            defaultValue = "10s",
            converter = DurationOption.class,
            description = "The lease: how long the lock outlives the last word from here. Default: ${DEFAULT-VALUE}")
    Duration ttl = Duration.ofSeconds(10);

    @Option(names = "--shared", description = "Hold the lock together with others that hold it --shared.")
    boolean shared;

    @Option(
            names = "--on-lost",
            paramLabel = "TERM|KILL",
            defaultValue = "TERM",
            description = "What the command gets when the lock is lost. Default: ${DEFAULT-VALUE}")
    OnLost onLost = OnLost.TERM;

    @Option(
            names = "--kill-after",
            paramLabel = "TIME",
            defaultValue = "3s",
            converter = DurationOption.class,
            description = "From a signal that asks the command to end, to SIGKILL. Default: ${DEFAULT-VALUE}")
    Duration killAfter = Duration.ofSeconds(3);

    @Option(
            names = "--lock-delay",
            paramLabel = "TIME",
            converter = DurationOption.class,
            description = "How long a lost lock stays closed to all. Default: --kill-after and a second")
    @Nullable
    Duration lockDelay;

    @Option(
            names = "--on-revoke",
            paramLabel = "TERM|IGNORE",
            defaultValue = "TERM",
            description = "What the command gets when somebody asks for the lock. Default: ${DEFAULT-VALUE}")
    OnRevoke onRevoke = OnRevoke.TERM;

    @Option(
            names = "--purpose",
            paramLabel = "TEXT",
            description = "Why, for people who look at the lock. Default: the program's name")
    @Nullable
    String purpose;

    @Option(names = "--quiet", description = "Say nothing about waiting.")
    boolean quiet;

    @Spec
    @Nullable
    CommandSpec spec;

    /** @param command what stood behind {@code --}; null when there was none */
    public RunCommand(@Nullable List<String> command) {
        this.command = command;
    }

    @Override
    public Integer call() throws InterruptedException {
        List<String> line = checkedCommand();
        try {
            new LockName(name);
        } catch (RejectedException e) {
            throw misuse(e.rejection().message());
        }
        within("--kill-after", killAfter, Duration.ZERO, KILL_AFTER_MAX);
        within("--ttl", ttl, TTL_MIN, TTL_MAX);
        if (lockDelay != null) {
            within("--lock-delay", lockDelay, Duration.ZERO, LOCK_DELAY_MAX);
        }
        Executable program = Executable.find(line.get(0), System.getenv("PATH"));
        if (!program.runnable()) {
            boolean there = program.path() != null;
            System.err.println("palisade run: '" + Plain.text(line.get(0)) + "' "
                    + (there
                            ? "cannot be executed; chmod +x it, or name another"
                            : "was not found; name a program on the PATH, or a path"));
            return there ? ExitCodes.NOT_EXECUTABLE : ExitCodes.NOT_FOUND;
        }
        try {
            LockedRun.Request request = new LockedRun.Request(
                    name,
                    options(line),
                    line,
                    new Ending(onLost == OnLost.KILL, killAfter),
                    onRevoke == OnRevoke.IGNORE,
                    wait.compareTo(WAIT_ENDLESS) < 0,
                    service.address());
            Teller teller = new Teller(System.err, quiet, Clock.system(ZoneId.systemDefault()));
            return new LockedRun(request, teller).run(service.client(PATIENCE).build());
        } catch (RejectedException e) {
            throw misuse(e.rejection().message());
        }
    }

    private void within(String option, Duration given, Duration least, Duration most) {
        if (given.compareTo(least) < 0 || given.compareTo(most) > 0) {
            throw misuse(Settings.named(Objects.requireNonNull(spec), option) + " is " + DurationOption.text(given)
                    + "; use " + DurationOption.text(least) + " to " + DurationOption.text(most));
        }
    }

    private List<String> checkedCommand() {
        List<String> line = command;
        if (line == null || line.isEmpty()) {
            throw misuse(
                    stray.isEmpty()
                            ? "no command; write it behind --: palisade run " + name + " -- COMMAND"
                            : "the command stands behind --: palisade run " + name + " -- " + String.join(" ", stray));
        }
        if (!stray.isEmpty()) {
            throw misuse(
                    "'" + stray.get(0) + "' is one too many; a lock has one name, and the command stands behind --");
        }
        return line;
    }

    private AcquireOptions options(List<String> line) {
        String program = String.valueOf(Path.of(line.get(0)).getFileName());
        String shown = program.length() <= PURPOSE_LENGTH_MAX ? program : program.substring(0, PURPOSE_LENGTH_MAX);
        return AcquireOptions.defaults()
                .mode(shared ? Mode.SHARED : Mode.EXCLUSIVE)
                .wait(wait)
                .ttl(ttl)
                .lockDelay(lockDelay == null ? killAfter.plus(SPARE) : lockDelay)
                .purpose(purpose == null ? shown : purpose);
    }

    private ParameterException misuse(String message) {
        return new ParameterException(Objects.requireNonNull(spec).commandLine(), message);
    }
}
