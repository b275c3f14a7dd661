package dev.palisade.cli;

import dev.palisade.cli.lease.AcquireCommand;
import dev.palisade.cli.lease.ReleaseCommand;
import dev.palisade.cli.lease.RenewCommand;
import dev.palisade.cli.run.RunCommand;
import dev.palisade.contract.cli.Nearest;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/** The verbs of {@code palisade}. A command is made only when it is the one that runs: start-up time. */
final class Verbs {
    /** Those that other jars have; the launcher knows which. */
    static final List<String> ELSEWHERE =
            List.of("server", "objects", "gateway", "keys", "users", "policy", "demo", "chaos", "bench");

    private static final int LENGTH_MAX = 80;

    private Verbs() {}

    /** @param command what stood behind {@code --}; null when there was none */
    static @Nullable Callable<Integer> find(String verb, @Nullable List<String> command) {
        Supplier<Callable<Integer>> made = made(command).get(verb);
        return made == null ? null : made.get();
    }

    /** All of them under one name, for completion. */
    static CommandLine all() {
        CommandLine palisade = new CommandLine(CommandSpec.create().name("palisade"));
        made(null).forEach((verb, command) -> palisade.addSubcommand(verb, command.get()));
        for (String verb : ELSEWHERE) {
            palisade.addSubcommand(verb, CommandSpec.create().name(verb));
        }
        return palisade;
    }

    /** Such as {@code 'descirbe' is not a command; did you mean describe?} */
    static String unknown(String verb) {
        if (ELSEWHERE.contains(verb)) {
            return "'" + verb + "' is a command of the launcher, palisade, and not of this jar";
        }
        List<String> known =
                Stream.concat(made(null).keySet().stream(), ELSEWHERE.stream()).toList();
        String guess = verb.length() > LENGTH_MAX
                ? "see: palisade --help"
                : Nearest.to(verb, known)
                        .map(meant -> "did you mean " + meant + "?")
                        .orElse("see: palisade --help");
        return "'" + verb + "' is not a command; " + guess;
    }

    private static Map<String, Supplier<Callable<Integer>>> made(@Nullable List<String> command) {
        Map<String, Supplier<Callable<Integer>>> verbs = new LinkedHashMap<>();
        verbs.put("run", () -> new RunCommand(command));
        verbs.put("describe", DescribeCommand::new);
        verbs.put("list", ListCommand::new);
        verbs.put("history", HistoryCommand::new);
        verbs.put("explain", ExplainLockCommand::new);
        verbs.put("watch", WatchCommand::new);
        verbs.put("acquire", AcquireCommand::new);
        verbs.put("renew", RenewCommand::new);
        verbs.put("release", ReleaseCommand::new);
        verbs.put("request-release", RequestReleaseCommand::new);
        verbs.put("force-release", ForceReleaseCommand::new);
        verbs.put("sessions", SessionsCommand::new);
        verbs.put("status", StatusCommand::new);
        verbs.put("check", CheckCommand::new);
        verbs.put("completion", CompletionCommand::new);
        verbs.put("version", VersionCommand::new);
        return verbs;
    }
}
