package dev.palisade.cli;

import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.JsonErrors;
import dev.palisade.cli.term.Plain;
import dev.palisade.contract.cli.Commands;
import dev.palisade.contract.cli.Version;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/** The jar's entry: {@code VERB ...}. */
public final class Main {
    // A reference, because the JDK drops an unreferenced logger with its settings.
    private static final Logger ROOT = Logger.getLogger("");

    private Main() {}

    public static void main(String[] args) {
        // What matters is told in our own lines.
        ROOT.setLevel(Level.OFF);
        System.exit(written(run(args), System.out));
    }

    /** {@code code}; but a success whose output was lost, as on a full disk, is none. */
    static int written(int code, PrintStream answer) {
        if (!answer.checkError() || code != ExitCodes.OK) {
            return code;
        }
        System.err.println(
                "palisade: the output could not be written; is the disk full, or has the reader of standard output ended?");
        return ExitCodes.NOT_WRITTEN;
    }

    static int run(String... args) {
        Optional<String> unread = Unread.among(args, System.getProperty("sun.jnu.encoding", ""));
        if (unread.isPresent()) {
            System.err.println("palisade: " + Plain.text(unread.get()));
            return Commands.USAGE;
        }
        String verb = args.length == 0 ? "" : args[0];
        if (verb.equals("--version") || verb.equals("-V")) {
            System.out.println(new Version().getVersion()[0]);
            return ExitCodes.OK;
        }
        List<String> rest = Arrays.asList(args).subList(Math.min(1, args.length), args.length);
        // What stands behind -- is the command's, and no option of ours.
        int dashes = verb.equals("run") ? rest.indexOf("--") : -1;
        @Nullable List<String> command = dashes < 0 ? null : List.copyOf(rest.subList(dashes + 1, rest.size()));
        List<String> ours = dashes < 0 ? rest : rest.subList(0, dashes);
        Callable<Integer> found = Verbs.find(verb, command);
        if (found == null) {
            System.err.println("palisade: " + Plain.text(Verbs.unknown(verb)));
            return Commands.USAGE;
        }
        return Commands.run(found, new JsonErrors(ours), ours.toArray(new String[0]));
    }
}
