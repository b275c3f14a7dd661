package dev.palisade.server.access;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reader of a policy's lines. For one thread. */
final class PolicyParser {
    private static final List<String> STATEMENTS = List.of("allow", "group", "limit");
    private static final int LIMIT_MAX = 1_000_000;
    private static final Pattern LIMIT = Pattern.compile("([a-z-]+)=([1-9][0-9]{0,5}|" + LIMIT_MAX + ")");

    private final Path path;
    private final List<Quota> quotas = new ArrayList<>();
    private final List<Rule> rules = new ArrayList<>();
    private final Map<String, Policy.Group> groups = new HashMap<>();
    private final Map<Integer, String> mistakes = new TreeMap<>();

    PolicyParser(Path path) {
        this.path = path;
    }

    void line(int number, String text) {
        Optional<String> encoding = PolicyText.encodingMistake(text);
        if (encoding.isPresent()) {
            mistake(number, encoding.get());
            return;
        }
        if (UserTokens.isIn(text)) {
            mistake(number, "a token is in this line; name the client, and replace the token: others may have read it");
            return;
        }
        if (text.isEmpty() || text.startsWith("#")) {
            return;
        }
        String[] words = text.split("\\s+", 4);
        switch (words[0]) {
            case "group" -> group(number, text.split("\\s+", -1));
            case "allow" -> allow(number, text, words);
            case "limit" -> limit(number, text.split("\\s+", -1));
            default ->
                mistake(
                        number,
                        "'" + PolicyText.shown(words[0]) + "' begins no line; "
                                + PolicyText.meant(words[0], STATEMENTS, "use "));
        }
    }

    private void group(int number, String[] words) {
        if (words.length < 3) {
            mistake(number, "a group has a name and members: group ops alice bob");
            return;
        }
        if (!Policy.isUserName(words[1])) {
            mistake(
                    number,
                    "'" + PolicyText.shown(words[1]) + "' names no group; use 1 to 64 letters, digits and . _ -");
            return;
        }
        Set<String> members = new LinkedHashSet<>(List.of(words).subList(2, words.length));
        for (String member : members) {
            if (!Policy.isPrincipal(member)) {
                mistake(number, notPrincipal(member));
            }
        }
        if (groups.putIfAbsent(words[1], new Policy.Group(number, members)) != null) {
            mistake(number, "group " + words[1] + " is there already; write its members in one line");
        }
    }

    private void allow(int number, String text, String[] words) {
        if (words.length < 4) {
            mistake(number, "a principal, verbs and a pattern of lock names follow allow: allow alice acquire jobs/*");
            return;
        }
        String who = words[1];
        if (!isParty(who)) {
            mistake(number, notPrincipal(who));
        }
        Set<Verb> verbs = verbs(number, words[2]);
        String pattern = words[3];
        PolicyText.patternMistake(pattern).ifPresent(what -> mistake(number, what));
        if (!words[2].equals("*") && verbs.contains(Verb.OPERATE) && !pattern.equals("*")) {
            mistake(number, "operate is of the whole server; its pattern is *");
        }
        rules.add(new Rule(number, who, verbs, pattern, text));
    }

    private void limit(int number, String[] words) {
        if (words.length < 3) {
            mistake(number, "a principal and limits follow limit: limit web sessions=100 requests-per-second=500");
            return;
        }
        if (!isParty(words[1])) {
            mistake(number, notPrincipal(words[1]));
        }
        Map<String, Integer> limits = new HashMap<>();
        for (String word : List.of(words).subList(2, words.length)) {
            Matcher limit = LIMIT.matcher(word);
            if (!limit.matches() || !Quota.LIMITS.contains(limit.group(1))) {
                mistake(
                        number,
                        "'" + PolicyText.shown(word) + "' is no limit; write NAME=NUMBER with "
                                + String.join(", ", Quota.LIMITS) + " and 1 to " + LIMIT_MAX);
            } else if (limits.put(limit.group(1), Integer.valueOf(limit.group(2))) != null) {
                mistake(number, limit.group(1) + " is in the line twice; give it once");
            }
        }
        quotas.add(new Quota(
                number,
                words[1],
                limits.getOrDefault(Quota.SESSIONS, 0),
                limits.getOrDefault(Quota.REQUESTS_PER_SECOND, 0),
                limits.getOrDefault(Quota.LOCKS, 0),
                limits.getOrDefault(Quota.WAITERS, 0)));
    }

    /** Whether a line can be for it. */
    private static boolean isParty(String who) {
        return who.equals("*") || (who.startsWith("@") ? Policy.isUserName(who.substring(1)) : Policy.isPrincipal(who));
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
                                    "'" + PolicyText.shown(word) + "' is no verb; "
                                            + PolicyText.meant(word, Verb.words(), "use ")));
        }
        return verbs;
    }

    private static String notPrincipal(String name) {
        if (name.startsWith("dns:") && Policy.isPrincipal(name.toLowerCase(Locale.ROOT))) {
            return "'" + PolicyText.shown(name)
                    + "' has upper case, and host names of certificates are compared in lower case; write "
                    + PolicyText.shown(name.toLowerCase(Locale.ROOT));
        }
        return "'" + PolicyText.shown(name) + "' names no client; use the name of a token (letters, digits and . _ -),"
                + " dns:NAME or uri:URI of a certificate, jwt:SUBJECT of a JWT, @GROUP, or *";
    }

    /** The first of each line. */
    private void mistake(int line, String what) {
        mistakes.putIfAbsent(line, path + ":" + line + ": " + what);
    }

    Policy done() throws FileMistakes {
        rules.forEach(rule -> checkGroup(rule.line(), rule.who()));
        quotas.forEach(quota -> checkGroup(quota.line(), quota.who()));
        if (!mistakes.isEmpty()) {
            throw new FileMistakes(path, List.copyOf(mistakes.values()));
        }
        return new Policy(path, List.copyOf(rules), List.copyOf(quotas), Map.copyOf(groups));
    }

    /** A group may stand below the lines that name it. */
    private void checkGroup(int line, String who) {
        if (!who.startsWith("@") || groups.containsKey(who.substring(1))) {
            return;
        }
        String name = PolicyText.shown(who.substring(1));
        mistake(
                line,
                "no group is called " + name + "; "
                        + (groups.isEmpty()
                                ? "write one: group " + name + " alice bob"
                                : PolicyText.meant(who.substring(1), List.copyOf(groups.keySet()), "there are ")));
    }
}
