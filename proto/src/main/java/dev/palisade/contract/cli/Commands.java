package dev.palisade.contract.cli;

import java.io.PrintWriter;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.logging.Logger;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** Runs a command the way all of ours run: settings from file and environment, and misuse told in one line. */
public final class Commands {
    /** Exit code of a command line, config file or environment that cannot be used. */
    public static final int USAGE = 2;

    /** Exit code of a start that failed for a reason outside the command line: a port, a directory, a key. */
    public static final int CANNOT_START = 3;

    private Commands() {}

    // Held, because the JDK's loggers are forgotten with their settings when nobody does.
    private static final Logger TRANSPORT = Logger.getLogger("io.grpc");

    /** What strangers send to a port is no event of ours: without this each port scan is a page of stack traces. */
    public static void quietTransport() {
        TRANSPORT.setLevel(Level.SEVERE);
    }

    /** A start that failed, told in one line; no stack trace is shown. */
    public static final class CannotStart extends Exception {
        private static final long serialVersionUID = 1L;

        public CannotStart(String message) {
            super(message);
        }
    }

    /** Runs {@code command}, a verb of {@code palisade}, with {@code args} and returns the process's exit code. */
    public static int run(Callable<Integer> command, String... args) {
        return run(command, System.getenv(), args);
    }

    static int run(Callable<Integer> command, Map<String, String> environment, String... args) {
        CommandLine verb = new CommandLine(command);
        CommandLine palisade = new CommandLine(CommandSpec.create().name("palisade"));
        palisade.addSubcommand(verb);
        palisade.setCaseInsensitiveEnumValuesAllowed(true);
        palisade.setParameterExceptionHandler((misuse, arguments) -> tell(misuse.getCommandLine(), misuse));
        palisade.setExecutionExceptionHandler((failure, where, parsed) -> {
            if (failure instanceof CannotStart) {
                where.getErr().println(name(where) + ": " + failure.getMessage());
                return CANNOT_START;
            }
            throw failure;
        });
        try {
            Settings.apply(verb, args, environment);
        } catch (ParameterException misuse) {
            if (!asksForHelp(args)) {
                return tell(verb, misuse);
            }
        }
        String[] line = new String[args.length + 1];
        line[0] = verb.getCommandName();
        System.arraycopy(args, 0, line, 1, args.length);
        return palisade.execute(line);
    }

    /** Help alone: what follows another argument may be meant for the command of {@code run}. */
    private static boolean asksForHelp(String... args) {
        return args.length == 1 && (args[0].equals("--help") || args[0].equals("-h"));
    }

    private static int tell(CommandLine where, ParameterException misuse) {
        PrintWriter err = where.getErr();
        String more = misuse instanceof UnknownSettings ? "settings: " + name(where) : "see";
        err.println(name(where) + ": " + Misuse.told(misuse) + " (" + more + " --help)");
        err.flush();
        return USAGE;
    }

    private static String name(CommandLine where) {
        return where.getCommandSpec().qualifiedName();
    }
}
