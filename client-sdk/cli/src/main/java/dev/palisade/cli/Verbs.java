package dev.palisade.cli;

import dev.palisade.cli.lease.AcquireCommand;
import dev.palisade.cli.lease.ReleaseCommand;
import dev.palisade.cli.lease.RenewCommand;
import dev.palisade.cli.run.RunCommand;
import dev.palisade.contract.cli.Suggestion;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/**
 * Registry of the commands of {@code palisade}. Only the requested command is instantiated, which keeps start-up fast.
 */
final class Verbs {
    /** Commands in other jars, which the launcher starts. */
    static final List<String> ELSEWHERE =
            List.of("server", "objects", "gateway", "keys", "users", "policy", "demo", "chaos", "bench");

    private static final int LENGTH_MAX = 80;

    private Verbs() {}

    /** @param command arguments after {@code --}; null if there was no {@code --} */
    static @Nullable Callable<Integer> find(String verb, @Nullable List<String> command) {
        Supplier<Callable<Integer>> factory = factories(command).get(verb);
        return factory == null ? null : factory.get();
    }

    /** All commands as subcommands of {@code palisade}, for completion. */
    static CommandLine all() {
        CommandLine palisade = new CommandLine(CommandSpec.create().name("palisade"));
        factories(null).forEach((verb, command) -> palisade.addSubcommand(verb, command.get()));
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
        List<String> known = Stream.concat(factories(null).keySet().stream(), ELSEWHERE.stream())
                .toList();
        String hint = verb.length() > LENGTH_MAX
                ? "see: palisade --help"
                : Suggestion.of(verb, known)
                        .map(meant -> "did you mean " + meant + "?")
                        .orElse("see: palisade --help");
        return "'" + verb + "' is not a command; " + hint;
    }

    private static Map<String, Supplier<Callable<Integer>>> factories(@Nullable List<String> command) {
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
