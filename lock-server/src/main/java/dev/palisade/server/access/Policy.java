package dev.palisade.server.access;

import dev.palisade.contract.cli.Suggestion;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

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
    private final Map<String, Group> groups;
    private final Map<String, Rights> cached = new ConcurrentHashMap<>();

    /** @param line of the file, from 1 */
    record Group(int line, Set<String> members) {}

    /** A name in a line. */
    private record Named(int line, String name) {}

    Policy(Path path, List<Rule> rules, List<Quota> quotas, Map<String, Group> groups) {
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
                || (who.startsWith("@") ? isMember(groups.get(who.substring(1)), principal) : who.equals(principal));
    }

    private static boolean isMember(@Nullable Group group, String principal) {
        return group != null && group.members().contains(principal);
    }

    /**
     * One line for each name that no token has, and for each group that no line is for. Names of certificates and JWTs are not
     * checked: their authorities and issuers give them out.
     */
    public List<String> unused(UserTokens users) {
        Set<String> names = users.names();
        List<Named> parties = Stream.concat(
                        rules.stream().map(rule -> new Named(rule.line(), rule.who())),
                        quotas.stream().map(quota -> new Named(quota.line(), quota.who())))
                .toList();
        Stream<Named> members = groups.values().stream()
                .flatMap(group -> group.members().stream().map(name -> new Named(group.line(), name)));
        Stream<Map.Entry<Integer, String>> unknown = Stream.concat(parties.stream(), members)
                .filter(named -> isUserName(named.name()) && !names.contains(named.name()))
                .map(named ->
                        Map.entry(named.line(), "no user has the name " + named.name() + "; " + meant(named, names)));
        Stream<Map.Entry<Integer, String>> idle = groups.entrySet().stream()
                .filter(group ->
                        parties.stream().noneMatch(named -> named.name().equals("@" + group.getKey())))
                .map(group -> Map.entry(
                        group.getValue().line(),
                        "no line is for @" + group.getKey() + "; write one, or remove the group"));
        return Stream.concat(unknown, idle)
                .sorted(Map.Entry.comparingByKey())
                .map(found -> path + ":" + found.getKey() + ": " + found.getValue())
                .toList();
    }

    private String meant(Named named, Set<String> names) {
        String make = "make its token with palisade users add " + named.name() + ", or remove it";
        return groups.containsKey(named.name())
                ? "did you mean @" + named.name() + "?"
                : Suggestion.of(named.name(), names)
                        .map(near -> "did you mean " + near + "?")
                        .orElse(make);
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
        return "policy " + path + ", " + rules.size() + (rules.size() == 1 ? " line that allows" : " lines that allow")
                + (rules.isEmpty() ? ": no client may do anything" : "");
    }
}
