package dev.palisade.server.access;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Access policy: lines that allow or limit, and nothing else. What no line allows is denied, and of limits the highest counts, so
 * the order of lines does not matter. Immutable; safe to
 * share between threads.
 *
 * <pre>
 * group ops alice uri:spiffe://example.org/ops
 * allow @ops *                *
 * allow web  acquire,describe orders/*
 * limit web  sessions=100 requests-per-second=500
 * </pre>
 */
public final class Policy {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,64}");
    private static final Pattern PRINCIPAL =
            Pattern.compile("[A-Za-z0-9._-]{1,64}|dns:[!-@\\[-~]{1,512}|uri:[!-~]{1,512}|jwt:[!-~]{1,512}");
    private static final int CACHED_MAX = 10_000;

    private final Path path;
    private final List<Rule> rules;
    private final List<Quota> quotas;
    private final Map<String, Set<String>> groups;
    private final Map<String, Rights> cached = new ConcurrentHashMap<>();

    Policy(Path path, List<Rule> rules, List<Quota> quotas, Map<String, Set<String>> groups) {
        this.path = path;
        this.rules = rules;
        this.quotas = quotas;
        this.groups = groups;
    }

    /** Whether a user may be called so: 1 to 64 letters, digits and {@code . _ -}. */
    static boolean isUserName(String name) {
        return NAME.matcher(name).matches();
    }

    /** Whether a client can be called so. */
    public static boolean isPrincipal(String name) {
        return PRINCIPAL.matcher(name).matches();
    }

    /**
     * Parses a policy.
     *
     * @param path for messages
     * @throws FileMistakes all of them
     */
    public static Policy parse(Path path, String text) throws FileMistakes {
        PolicyParser parser = new PolicyParser(path);
        String[] lines = text.split("\\r?\\n", -1);
        for (int i = 0; i < lines.length; i++) {
            parser.line(i + 1, lines[i].strip());
        }
        return parser.done();
    }

    /** What {@code principal} may do. */
    public Rights rights(String principal) {
        if (cached.size() > CACHED_MAX) {
            cached.clear();
        }
        return cached.computeIfAbsent(
                principal,
                who -> new Rights(
                        rules.stream().filter(rule -> concerns(rule.who(), who)).toList(),
                        quotas.stream()
                                .filter(quota -> concerns(quota.who(), who))
                                .toList()));
    }

    private boolean concerns(String who, String principal) {
        return who.equals("*")
                || (who.startsWith("@")
                        ? groups.getOrDefault(who.substring(1), Set.of()).contains(principal)
                        : who.equals(principal));
    }

    /** Why {@code principal} may or may not: one line. */
    public String explain(String principal, Verb verb, String lock) {
        String asked = principal + " " + verb.word() + (verb == Verb.OPERATE ? "" : " '" + lock + "'");
        Rights rights = rights(principal);
        return rights.why(verb, lock)
                .map(rule -> "allowed: " + asked + ", by " + path + ":" + rule.line() + ": " + rule.text())
                .orElseGet(() -> "denied: " + asked + ", no line of " + path + " allows it; "
                        + (rights.rules().isEmpty()
                                ? "no line is for " + principal
                                : "lines for " + principal + ": "
                                        + rights.rules().stream()
                                                .map(rule -> String.valueOf(rule.line()))
                                                .collect(Collectors.joining(", "))));
    }

    /** Such as {@code 3 lines that allow}. */
    public String shown() {
        return "policy " + path + ", " + rules.size() + (rules.size() == 1 ? " line that allows" : " lines that allow");
    }
}
