package dev.palisade.server.access;

import dev.palisade.contract.LockName;
import dev.palisade.contract.cli.Nearest;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Access policy: lines that allow, and nothing else. What no line allows is denied, so their order does not matter. Immutable; safe to
 * share between threads.
 *
 * <pre>
 * group ops alice uri:spiffe://example.org/ops
 * allow @ops *                *
 * allow web  acquire,describe orders/*
 * </pre>
 */
public final class Policy {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,64}");
    private static final Pattern PRINCIPAL = Pattern.compile("[A-Za-z0-9._-]{1,64}|(dns|uri):[!-~]{1,512}");
    private static final List<String> STATEMENTS = List.of("allow", "group");
    private static final int CACHED_MAX = 10_000;

    private final Path path;
    private final List<Rule> rules;
    private final Map<String, Set<String>> groups;
    private final Map<String, Rights> cached = new ConcurrentHashMap<>();

    private Policy(Path path, List<Rule> rules, Map<String, Set<String>> groups) {
        this.path = path;
        this.rules = rules;
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
        Parser parser = new Parser(path);
        List<String> lines = text.lines().toList();
        for (int i = 0; i < lines.size(); i++) {
            parser.line(i + 1, lines.get(i).strip());
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
                        rules.stream().filter(rule -> concerns(rule, who)).toList()));
    }

    private boolean concerns(Rule rule, String principal) {
        return rule.who().equals("*")
                || (rule.who().startsWith("@")
                        ? groups.getOrDefault(rule.who().substring(1), Set.of()).contains(principal)
                        : rule.who().equals(principal));
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

    private static final class Parser {
        private final Path path;
        private final List<Rule> rules = new ArrayList<>();
        private final Map<String, Set<String>> groups = new HashMap<>();
        private final Map<Integer, String> mistakes = new java.util.TreeMap<>();

        Parser(Path path) {
            this.path = path;
        }

        void line(int number, String text) {
            if (text.isEmpty() || text.startsWith("#")) {
                return;
            }
            String[] words = text.split("\\s+", 4);
            switch (words[0]) {
                case "group" -> group(number, text.split("\\s+", -1));
                case "allow" -> allow(number, text, words);
                default ->
                    mistake(number, "'" + shown(words[0]) + "' begins no line; " + meant(words[0], STATEMENTS, "use "));
            }
        }

        private void group(int number, String[] words) {
            if (words.length < 3) {
                mistake(number, "a group has a name and members: group ops alice bob");
                return;
            }
            if (!isUserName(words[1])) {
                mistake(number, "'" + shown(words[1]) + "' names no group; use 1 to 64 letters, digits and . _ -");
                return;
            }
            Set<String> members = new LinkedHashSet<>(List.of(words).subList(2, words.length));
            for (String member : members) {
                if (!isPrincipal(member)) {
                    mistake(number, notPrincipal(member));
                }
            }
            if (groups.putIfAbsent(words[1], members) != null) {
                mistake(number, "group " + words[1] + " is there already; write its members in one line");
            }
        }

        private void allow(int number, String text, String[] words) {
            if (words.length < 4) {
                mistake(
                        number,
                        "a principal, verbs and a pattern of lock names follow allow: allow alice acquire jobs/*");
                return;
            }
            String who = words[1];
            if (!who.equals("*") && !(who.startsWith("@") ? isUserName(who.substring(1)) : isPrincipal(who))) {
                mistake(number, notPrincipal(who));
            }
            Set<Verb> verbs = verbs(number, words[2]);
            String pattern = words[3];
            int star = pattern.indexOf('*');
            if (star >= 0 && star < pattern.length() - 1) {
                mistake(
                        number,
                        "pattern '" + shown(pattern) + "' has a * before its end; a pattern is a lock name, or"
                                + " its beginning and *");
            }
            if (pattern.getBytes(StandardCharsets.UTF_8).length > LockName.BYTES_MAX
                    || pattern.chars().anyMatch(Character::isISOControl)) {
                mistake(
                        number,
                        "the pattern is no lock name; one has at most " + LockName.BYTES_MAX
                                + " bytes and no control characters");
            }
            if (!words[2].equals("*") && verbs.contains(Verb.OPERATE) && !pattern.equals("*")) {
                mistake(number, "operate is of the whole server; its pattern is *");
            }
            rules.add(new Rule(number, who, verbs, pattern, text));
        }

        private Set<Verb> verbs(int number, String words) {
            if (words.equals("*")) {
                return EnumSet.allOf(Verb.class);
            }
            Set<Verb> verbs = EnumSet.noneOf(Verb.class);
            for (String word : words.split(",", -1)) {
                Verb.of(word)
                        .ifPresentOrElse(
                                verbs::add,
                                () -> mistake(
                                        number,
                                        "'" + shown(word) + "' is no verb; " + meant(word, Verb.words(), "use ")));
            }
            return verbs;
        }

        private static String notPrincipal(String name) {
            return "'" + shown(name) + "' names no client; use the name of a token (letters, digits and . _ -),"
                    + " dns:NAME or uri:URI of a certificate, @GROUP, or *";
        }

        private static String meant(String word, List<String> words, String use) {
            return Nearest.to(word, words)
                    .map(near -> "did you mean " + near + "?")
                    .orElse(use + String.join(", ", words));
        }

        private static String shown(String word) {
            return word.length() > 60 ? word.substring(0, 60) + "..." : word;
        }

        /** The first of each line. */
        private void mistake(int line, String what) {
            mistakes.putIfAbsent(line, path + ":" + line + ": " + what);
        }

        Policy done() throws FileMistakes {
            for (Rule rule : rules) {
                if (rule.who().startsWith("@") && !groups.containsKey(rule.who().substring(1))) {
                    mistake(
                            rule.line(),
                            "no group is called " + shown(rule.who().substring(1)) + "; "
                                    + (groups.isEmpty()
                                            ? "write one: group "
                                                    + shown(rule.who().substring(1)) + " alice bob"
                                            : meant(
                                                    rule.who().substring(1),
                                                    List.copyOf(groups.keySet()),
                                                    "there are ")));
                }
            }
            if (!mistakes.isEmpty()) {
                throw new FileMistakes(path, List.copyOf(mistakes.values()));
            }
            return new Policy(path, List.copyOf(rules), Map.copyOf(groups));
        }
    }
}
