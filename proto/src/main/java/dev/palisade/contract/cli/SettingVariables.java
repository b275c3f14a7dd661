package dev.palisade.contract.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * The environment variables that carry settings. Every variable that begins with {@code PALISADE_} is a setting of a command, one of a
 * short list, or injected by Kubernetes for a Service; any other is a misspelt one. Pure.
 */
final class SettingVariables {
    private static final String PREFIX = "PALISADE_";

    /** Read or written by our processes and launcher, and settings of no single command. */
    private static final Set<String> COMMON = Set.of(
            "PALISADE_CACERT",
            "PALISADE_CERT",
            "PALISADE_CONFIG",
            "PALISADE_HOME",
            "PALISADE_JAVA_OPTS",
            "PALISADE_KEY",
            "PALISADE_LEASE",
            "PALISADE_LOCK",
            "PALISADE_SEQUENCER",
            "PALISADE_SERVER",
            "PALISADE_TLS",
            "PALISADE_TOKEN",
            "PALISADE_TOKEN_FILE");

    /** Of the faults that our own tests inject. */
    private static final String OF_TESTS = PREFIX + "TEST_";

    // For a Service NAME Kubernetes sets NAME_SERVICE_HOST, NAME_SERVICE_PORT[_PORTNAME], NAME_PORT and
    // NAME_PORT_7600_TCP[_PROTO|_PORT|_ADDR].
    private static final Pattern SERVICE_HOST = Pattern.compile("PALISADE_([A-Z0-9_]+_)?SERVICE_HOST");
    private static final Pattern SERVICE_PORT = Pattern.compile("PALISADE_([A-Z0-9_]+_)?SERVICE_PORT(_[A-Z0-9_]+)?");
    private static final Pattern PORT_PART =
            Pattern.compile("PALISADE_([A-Z0-9_]+_)?PORT_[0-9]+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR)");
    private static final Pattern PORT_URL = Pattern.compile("PALISADE_([A-Z0-9_]+_)?PORT(_[0-9]+_(TCP|UDP|SCTP))?");

    private static final Pattern ADDRESS = Pattern.compile("[0-9.]+|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*");
    private static final Pattern DIGITS = Pattern.compile("[0-9]+");
    private static final Pattern URL = Pattern.compile("(tcp|udp|sctp)://\\S+:[0-9]+");

    private SettingVariables() {}

    /** The variable of a setting: {@code PALISADE_SERVER_DATA_DIR} of {@code server.data-dir}. */
    static String of(String key) {
        return PREFIX + upper(key);
    }

    /** Whether Kubernetes made it for a Service: its name and its value both have that shape. No value of a setting has. */
    static boolean isInjected(String name, String value) {
        return (PORT_URL.matcher(name).matches() && URL.matcher(value).matches())
                || (SERVICE_HOST.matcher(name).matches()
                        && ADDRESS.matcher(value).matches())
                || (SERVICE_PORT.matcher(name).matches()
                        && DIGITS.matcher(value).matches())
                || PORT_PART.matcher(name).matches();
    }

    /**
     * A line for each variable of {@code environment} that is misspelt; settings of other commands are left to those. Values are
     * not repeated: they may be secrets.
     *
     * @param keys the settings of {@code command}
     */
    static List<String> misspelt(Map<String, String> environment, String command, Set<String> keys) {
        TreeSet<String> known = new TreeSet<>(COMMON);
        keys.forEach(key -> known.add(of(key)));
        List<String> problems = new ArrayList<>();
        new TreeMap<>(environment).forEach((name, value) -> {
            if (name.startsWith(PREFIX)
                    && !name.startsWith(OF_TESTS)
                    && !known.contains(name)
                    && !isOfAnother(name, command)
                    && !isInjected(name, value)) {
                problems.add("environment variable " + UsageError.shown(name) + ": no setting is called that"
                        + advice(Suggestion.of(name, known), "unset"));
            }
        });
        return problems;
    }

    /** The end of a line about a name that no setting has: the nearest one, or that there is none and the name is to go. */
    static String advice(Optional<String> nearest, String remove) {
        return nearest.map(meant -> "; did you mean " + meant + "?")
                .orElse(", and none is near; " + remove + " or rename it");
    }

    private static boolean isOfAnother(String name, String command) {
        return Settings.COMMANDS.stream()
                .filter(other -> !other.equals(command))
                .anyMatch(other -> name.startsWith(PREFIX + upper(other) + "_"));
    }

    private static String upper(String key) {
        return key.replace('.', '_').replace('-', '_').toUpperCase(Locale.ROOT);
    }
}
