package dev.palisade.contract.cli;

import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.stream.Collectors;
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
 * {@code --server}, where the lock server is, means the same to all that have it: {@code PALISADE_SERVER}, {@code server}.
 */
public final class Settings implements IDefaultValueProvider {
    /** Names the file, beside {@code --config}. */
    public static final String CONFIG_VARIABLE = "PALISADE_CONFIG";

    private static final String CONFIG = "--config";
    private static final String SHARED_BY_ALL = "--server";

    private final Properties file;
    private final Map<String, String> environment;

    private Settings(Properties file, Map<String, String> environment) {
        this.file = file;
        this.environment = environment;
    }

    /**
     * Gives {@code commandLine}'s command its settings.
     *
     * @throws ParameterException in one line, when the file cannot be read or holds a key no option has
     */
    public static void apply(CommandLine commandLine, String[] args, Map<String, String> environment) {
        String path = configPath(args, environment);
        Properties file = new Properties();
        if (path != null) {
            try (Reader reader = Files.newBufferedReader(Path.of(path), StandardCharsets.UTF_8)) {
                file.load(reader);
            } catch (IOException | IllegalArgumentException e) {
                throw new ParameterException(
                        commandLine,
                        "cannot read config file " + path + " (" + e.getClass().getSimpleName()
                                + "); name a readable properties file");
            }
            refuseUnknown(commandLine, path, file);
        }
        Settings settings = new Settings(file, environment);
        commandLine.setDefaultValueProvider(settings);
    }

    @Override
    public @Nullable String defaultValue(ArgSpec argument) {
        if (!(argument instanceof OptionSpec option) || option.longestName().equals(CONFIG)) {
            return null;
        }
        String key = key(option.command(), option);
        String fromEnvironment = environment.get(variable(key));
        String value = fromEnvironment != null ? fromEnvironment : file.getProperty(key);
        return value == null ? null : value.strip();
    }

    /** A verb of a verb has the settings of the one it belongs to: {@code objects log} reads {@code objects.data-dir}. */
    private static String key(CommandSpec command, OptionSpec option) {
        if (option.longestName().equals(SHARED_BY_ALL)) {
            return option.longestName().substring(2);
        }
        CommandSpec verb = command;
        for (CommandSpec parent = verb.parent(); parent != null && parent.parent() != null; parent = parent.parent()) {
            verb = parent;
        }
        return verb.name() + "." + option.longestName().substring(2);
    }

    private static String variable(String key) {
        return "PALISADE_" + key.replace('.', '_').replace('-', '_').toUpperCase(Locale.ROOT);
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

    /** A key of another command (the file may serve several) is left alone; one of ours that no option has is a typo. */
    private static void refuseUnknown(CommandLine commandLine, String path, Properties file) {
        CommandSpec spec = commandLine.getCommandSpec();
        String prefix = spec.name() + ".";
        TreeSet<String> known = spec.options().stream()
                .filter(option -> option.longestName().startsWith("--")
                        && !option.longestName().equals(CONFIG))
                .map(option -> key(spec, option))
                .collect(Collectors.toCollection(TreeSet::new));
        for (String key : new TreeSet<>(file.stringPropertyNames())) {
            if (key.startsWith(prefix) && !known.contains(key)) {
                throw new ParameterException(
                        commandLine, path + ": no setting is called '" + key + "'; settings are " + known);
            }
        }
    }
}
