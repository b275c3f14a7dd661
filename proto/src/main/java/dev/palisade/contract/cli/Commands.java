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

    /** Failure of a command, reported in one line without a stack trace. */
    public static class Failed extends Exception {
        private static final long serialVersionUID = 1L;

        private final int exitCode;
        private final String reason;

        /**
         * @param exitCode of the process
         * @param reason a word for programs, such as the name of a reason of a rejection; may be empty
         * @param message one line: what, where, and what to do
         */
        public Failed(int exitCode, String reason, String message) {
            super(message);
            this.exitCode = exitCode;
            this.reason = reason;
        }

        public int exitCode() {
            return exitCode;
        }

        public String reason() {
            return reason;
        }

        /** One line for a person. */
        public String message() {
            return String.valueOf(getMessage());
        }
    }

    /** Failure of a start for a reason outside the command line. */
    public static final class CannotStart extends Failed {
        private static final long serialVersionUID = 1L;

        public CannotStart(String message) {
            super(CANNOT_START, "", message);
        }
    }

    /** Output format of errors. */
    public interface ErrorFormat {
        /** {@code palisade VERB: MESSAGE}. */
        ErrorFormat TEXT = (command, failure) -> name(command) + ": " + TerminalEscape.text(failure.message());

        /**
         * The line for standard error.
         *
         * @param command that failed; its options may not have been parsed
         */
        String line(CommandLine command, Failed failure);
    }

    /** Runs {@code command}, a verb of {@code palisade}, with {@code args} and returns the process's exit code. */
    public static int run(Callable<Integer> command, String... args) {
        return run(command, ErrorFormat.TEXT, args);
    }

    /** {@link #run(Callable, String...)} with another format of errors. */
    public static int run(Callable<Integer> command, ErrorFormat format, String... args) {
        return run(command, format, System.getenv(), args);
    }

    static int run(Callable<Integer> command, Map<String, String> environment, String... args) {
        return run(command, ErrorFormat.TEXT, environment, args);
    }

    private static int run(
            Callable<Integer> command, ErrorFormat format, Map<String, String> environment, String... args) {
        CommandLine verb = new CommandLine(command);
        CommandLine palisade = new CommandLine(CommandSpec.create().name("palisade"));
        palisade.addSubcommand(verb);
        palisade.setCaseInsensitiveEnumValuesAllowed(true);
        palisade.setParameterExceptionHandler((misuse, arguments) -> reject(misuse.getCommandLine(), misuse, format));
        palisade.setExecutionExceptionHandler((failure, where, parsed) -> {
            if (failure instanceof Failed failed) {
                return report(where, failed, format);
            }
            throw failure;
        });
        try {
            Settings.apply(verb, args, environment);
        } catch (ParameterException misuse) {
            if (!asksForHelp(args)) {
                return reject(verb, misuse, format);
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

    private static int reject(CommandLine where, ParameterException misuse, ErrorFormat format) {
        String more = misuse instanceof WrongSettings ? "settings: " + name(where) : "see";
        String message = UsageError.line(misuse) + " (" + more + " --help)";
        return report(where, new Failed(USAGE, "", message), format);
    }

    private static int report(CommandLine where, Failed failed, ErrorFormat format) {
        PrintWriter err = where.getErr();
        err.println(format.line(where, failed));
        err.flush();
        return failed.exitCode();
    }

    private static String name(CommandLine where) {
        return where.getCommandSpec().qualifiedName();
    }
}
