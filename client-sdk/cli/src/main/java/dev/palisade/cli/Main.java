package dev.palisade.cli;

import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.JsonErrors;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.contract.cli.Commands;
import dev.palisade.contract.cli.Version;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/** The jar's entry: {@code VERB ...}. */
public final class Main {
    // A reference, because the JDK drops an unreferenced logger with its settings.
    private static final Logger ROOT = Logger.getLogger("");
    /** Of the SDK: its only lines that no command prints itself. */
    static final Logger ACTIVE_SERVERS = Logger.getLogger("dev.palisade.client.ActiveServersCheck");

    private Main() {}

    public static void main(String[] args) {
        // Commands print their own messages.
        ROOT.setLevel(Level.OFF);
        ACTIVE_SERVERS.setLevel(Level.WARNING);
        ACTIVE_SERVERS.setUseParentHandlers(false);
        ACTIVE_SERVERS.addHandler(printingTo(System.err));
        System.exit(exitCode(run(args), System.out));
    }

    static Handler printingTo(PrintStream err) {
        return new Handler() {
            @Override
            public void publish(LogRecord line) {
                err.println("palisade: " + TerminalText.text(line.getMessage()));
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
    }

    /** The exit code: {@code code}, or NOT_WRITTEN if a success could not be written, for instance on a full disk. */
    static int exitCode(int code, PrintStream out) {
        if (!out.checkError() || code != ExitCodes.OK) {
            return code;
        }
        System.err.println(
                "palisade: the output could not be written; is the disk full, or has the reader of standard output ended?");
        return ExitCodes.NOT_WRITTEN;
    }

    static int run(String... args) {
        Optional<String> undecodable = UndecodableArgs.error(args, System.getProperty("sun.jnu.encoding", ""));
        if (undecodable.isPresent()) {
            System.err.println("palisade: " + TerminalText.text(undecodable.get()));
            return Commands.USAGE;
        }
        String verb = args.length == 0 ? "" : args[0];
        if (verb.equals("--version") || verb.equals("-V")) {
            System.out.println(new Version().getVersion()[0]);
            return ExitCodes.OK;
        }
        List<String> rest = Arrays.asList(args).subList(Math.min(1, args.length), args.length);
        // Arguments after -- belong to the command and are not our options.
        int dashes = verb.equals("run") ? rest.indexOf("--") : -1;
        @Nullable List<String> command = dashes < 0 ? null : List.copyOf(rest.subList(dashes + 1, rest.size()));
        List<String> ours = dashes < 0 ? rest : rest.subList(0, dashes);
        Callable<Integer> found = Verbs.find(verb, command);
        if (found == null) {
            System.err.println("palisade: " + TerminalText.text(Verbs.unknown(verb)));
            return Commands.USAGE;
        }
        return Commands.run(found, new JsonErrors(ours), ours.toArray(new String[0]));
    }
}
