package dev.palisade.contract.cli;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.IDefaultValueProvider;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;

/**
 * Where an option's value comes from when it is not on the command line: the environment, then a file in Java's
 * properties format. Option {@code --data-dir} of {@code palisade server} is {@code PALISADE_SERVER_DATA_DIR} in the
 * environment and {@code server.data-dir} in the file; the file is {@code --config}, else {@code PALISADE_CONFIG}.
 * {@code --server}, where the lock server is, and the TLS options for calling it mean the same to all commands that have them:
 * {@code PALISADE_SERVER}, {@code server}.
 */
public final class Settings implements IDefaultValueProvider {
    /** Names the file, beside {@code --config}. */
    public static final String CONFIG_VARIABLE = "PALISADE_CONFIG";

    private static final String CONFIG = "--config";

    /** Keys of settings that belong to no single command. */
    static final Set<String> SHARED_KEYS = Set.of("server", "tls", "cacert", "cert", "key", "token-file");

    /** Whose settings may stand in one file: every command of the launcher. */
    static final Set<String> COMMANDS = Set.of(
            "run",
            "describe",
            "list",
            "history",
            "explain",
            "watch",
            "acquire",
            "renew",
            "release",
            "request-release",
            "force-release",
            "sessions",
            "status",
            "check",
            "server",
            "objects",
            "gateway",
            "keys",
            "users",
            "policy",
            "demo",
            "chaos",
            "bench",
            "completion",
            "version");

    /** A command whose {@code --config} names a file of its own format, which it reads itself. */
    public interface OwnConfigFile {}

    private final SettingsFile file;
    private final Map<String, String> environment;

    private Settings(SettingsFile file, Map<String, String> environment) {
        this.file = file;
        this.environment = environment;
    }

    /**
     * Gives {@code commandLine}'s command its settings.
     *
     * @throws ParameterException in one line, when the file cannot be read, or when file or environment name settings that do not
     *     exist, or have a value that counts and is of the wrong kind (up to ten of both are named)
     */
    public static void apply(CommandLine commandLine, String[] args, Map<String, String> environment) {
        boolean own = commandLine.getCommand() instanceof OwnConfigFile;
        String path = configPath(own ? new String[0] : args, environment);
        SettingsFile file;
        try {
            file = path == null ? SettingsFile.NONE : SettingsFile.read(path);
        } catch (SettingsFile.Unreadable e) {
            throw new ParameterException(commandLine, e.getMessage());
        }
        Settings settings = new Settings(file, environment);
        List<String> problems = unknown(commandLine, file, environment);
        problems.addAll(settings.ofWrongKinds(commandLine, args));
        if (!problems.isEmpty()) {
            throw new WrongSettings(commandLine, problems);
        }
        commandLine.setDefaultValueProvider(settings);
    }

    /**
     * An option as a message names it: {@code --port}, and in brackets the environment variable, or the file and line, that its
     * value came from when it was not the command line.
     */
    public static String named(CommandSpec command, String option) {
        CommandLine line = command.commandLine();
        if (line.getParseResult() != null && line.getParseResult().hasMatchedOption(option)) {
            return option;
        }
        OptionSpec known = command.findOption(option);
        Value value = known != null && line.getDefaultValueProvider() instanceof Settings settings
                ? settings.value(known)
                : null;
        return value == null ? option : option + " (" + value.from() + ")";
    }

    @Override
    public @Nullable String defaultValue(ArgSpec argument) {
        if (!(argument instanceof OptionSpec option) || option.longestName().equals(CONFIG)) {
            return null;
        }
        Value value = value(option);
        return value == null ? null : value.text();
    }

    private record Value(String text, String from) {}

    private @Nullable Value value(OptionSpec option) {
        String key = key(option.command(), option);
        String variable = SettingVariables.of(key);
        String fromEnvironment = environment.get(variable);
        if (fromEnvironment != null
                && !fromEnvironment.isBlank()
                && !SettingVariables.isInjected(variable, fromEnvironment)) {
            return new Value(fromEnvironment.strip(), "environment variable " + variable);
        }
        SettingsFile.Entry entry = file.entries().get(key);
        return entry == null ? null : new Value(entry.value().strip(), file.where(entry));
    }

    /** The parser tells of a value that is no number, but not where it stands. */
    private List<String> ofWrongKinds(CommandLine commandLine, String[] args) {
        List<String> problems = new ArrayList<>();
        for (OptionSpec option : commandLine.getCommandSpec().options()) {
            Value value = option.longestName().equals(CONFIG) || isGiven(option, args) ? null : value(option);
            if (value == null) {
                continue;
            }
            CommandSpec alone = CommandSpec.create()
                    .addOption(OptionSpec.builder(option.longestName())
                            .type(option.type())
                            .converters(option.converters())
                            .arity("1")
                            .build());
            try {
                new CommandLine(alone)
                        .setCaseInsensitiveEnumValuesAllowed(true)
                        .parseArgs(option.longestName(), value.text());
            } catch (ParameterException e) {
                problems.add(value.from() + ": " + UsageError.shortened(e.getMessage()));
            }
        }
        return problems;
    }

    private static boolean isGiven(OptionSpec option, String[] args) {
        return Arrays.stream(args)
                .anyMatch(arg ->
                        Arrays.stream(option.names()).anyMatch(name -> arg.equals(name) || arg.startsWith(name + "=")));
    }

    /** A verb of a verb has the settings of the one it belongs to: {@code objects log} reads {@code objects.data-dir}. */
    private static String key(CommandSpec command, OptionSpec option) {
        String name = option.longestName().substring(2);
        if (SHARED_KEYS.contains(name)) {
            return name;
        }
        CommandSpec verb = command;
        for (CommandSpec parent = verb.parent(); parent != null && parent.parent() != null; parent = parent.parent()) {
            verb = parent;
        }
        return verb.name() + "." + name;
    }

    private static @Nullable String configPath(String[] args, Map<String, String> environment) {
        for (int i = 0; i < args.length; i++) {
            if (args[i].startsWith(CONFIG + "=")) {
                return args[i].substring(CONFIG.length() + 1);
            }
            if (args[i].equals(CONFIG) && i + 1 < args.length) {
                return args[i + 1];
            }
        }
        String variable = environment.get(CONFIG_VARIABLE);
        return variable == null || variable.isEmpty() ? null : variable;
    }

    /** A setting of another command is for that one to judge; one of ours that no option has, or of no command, is a typo. */
    private static List<String> unknown(CommandLine commandLine, SettingsFile file, Map<String, String> environment) {
        CommandSpec spec = commandLine.getCommandSpec();
        TreeSet<String> known = keys(spec).collect(Collectors.toCollection(TreeSet::new));
        List<String> problems = new ArrayList<>(SettingVariables.misspelt(environment, spec.name(), known));
        file.entries().forEach((key, entry) -> {
            if (SHARED_KEYS.contains(key)) {
                return; // Stands in the file of those too that ask no lock server.
            }
            String command = command(key);
            if (command.equals(spec.name()) ? !known.contains(key) : !COMMANDS.contains(command)) {
                problems.add(file.where(entry) + ": no setting is called '" + UsageError.shown(key) + "'"
                        + SettingVariables.advice(nearest(key, spec.name(), known), "remove"));
            }
        });
        return problems;
    }

    private static String command(String key) {
        return key.substring(0, Math.max(0, key.indexOf('.')));
    }

    /** One of ours, also where its command was left out; else the same setting of the nearest command. */
    private static Optional<String> nearest(String key, String own, Set<String> known) {
        if (key.indexOf('.') < 0) {
            return Suggestion.of(own + "." + key, known);
        }
        return Suggestion.of(key, known)
                .or(() -> Suggestion.of(command(key), COMMANDS)
                        .filter(other -> !other.equals(own))
                        .map(other -> UsageError.shown(other + key.substring(key.indexOf('.')))));
    }

    private static Stream<String> keys(CommandSpec spec) {
        Stream<String> own = spec.options().stream()
                .filter(option -> option.longestName().startsWith("--")
                        && !option.longestName().equals(CONFIG))
                .map(option -> key(spec, option));
        return Stream.concat(own, spec.subcommands().values().stream().flatMap(verb -> keys(verb.getCommandSpec())));
    }
}
