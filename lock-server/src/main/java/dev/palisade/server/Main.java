package dev.palisade.server;

import dev.palisade.contract.cli.Commands;
import dev.palisade.contract.cli.LibraryLog;
import dev.palisade.contract.cli.OutOfMemoryExit;
import dev.palisade.contract.cli.TerminalEscape;
import java.util.Arrays;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** The jar's entry: {@code server ...}, {@code keys ...}, {@code users ...} or {@code policy ...}. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        ServerLog.setUp();
        LibraryLog.install((logger, level, message, failure) -> LoggerFactory.getLogger(logger)
                .atLevel(level.intValue() >= 1_000 ? Level.ERROR : level.intValue() >= 900 ? Level.WARN : Level.INFO)
                .setCause(failure)
                .log(message));
        OutOfMemoryExit.install("palisade server");
        String command = args.length == 0 ? "" : args[0];
        String[] rest = args.length == 0 ? args : Arrays.copyOfRange(args, 1, args.length);
        System.exit(
                switch (command) {
                    case "server" -> Commands.run(new ServerCommand(), rest);
                    case "keys" -> Commands.run(new KeysCommand(), rest);
                    case "users" -> Commands.run(new UsersCommand(), rest);
                    case "policy" -> Commands.run(new PolicyCommand(), rest);
                    default -> {
                        System.err.println("palisade: '" + TerminalEscape.text(command)
                                + "' is not a command of this jar; use server, keys, users or policy");
                        yield Commands.USAGE;
                    }
                });
    }
}
