package dev.palisade.server.access;

import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Sequencer;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Reader of the lines of {@code --guard-groups}. For one thread. */
final class GuardGroupsParser {
    private static final List<String> STATEMENTS = List.of("group", "locks", "accept-previous");

    private final Path path;
    private final Map<String, GuardGroups.Group> groups = new LinkedHashMap<>();
    private final Map<String, Named> patterns = new LinkedHashMap<>();
    private final Map<String, Integer> acceptPrevious = new LinkedHashMap<>();
    private final Map<Integer, String> mistakes = new TreeMap<>();

    /** A group, as a line names it. */
    private record Named(int line, String group) {}

    GuardGroupsParser(Path path) {
        this.path = path;
    }

    void line(int number, String text) {
        if (text.isEmpty() || text.startsWith("#")) {
            return;
        }
        PolicyText.encodingMistake(text).ifPresent(what -> mistake(number, what));
        String[] words = text.split("\\s+", 3);
        switch (words[0]) {
            case "group" -> group(number, words);
            case "locks" -> locks(number, words);
            case "accept-previous" -> acceptPrevious(number, words);
            default ->
                mistake(
                        number,
                        "'" + PolicyText.shown(words[0]) + "' begins no line; "
                                + PolicyText.meant(words[0], STATEMENTS, "use "));
        }
    }

    private void group(int number, String[] words) {
        if (words.length < 3) {
            mistake(number, "a name and the file of a keyset follow group: group payments payments.json");
            return;
        }
        try {
            Sequencer.requireAudience(words[1]);
            Path keyset = path.toAbsolutePath().resolveSibling(words[2]);
            if (groups.putIfAbsent(words[1], new GuardGroups.Group(number, words[1], keyset, false)) != null) {
                mistake(number, "group " + words[1] + " is there already; a group has one keyset");
            }
        } catch (RejectedException e) {
            mistake(number, e.rejection().message());
        } catch (InvalidPathException e) {
            mistake(number, "'" + PolicyText.shown(words[2]) + "' is no path; name the file of a keyset");
        }
    }

    private void locks(int number, String[] words) {
        if (words.length < 3) {
            mistake(number, "a group and a pattern of lock names follow locks: locks payments payments/*");
            return;
        }
        PolicyText.patternMistake(words[2]).ifPresent(what -> mistake(number, what));
        Named before = patterns.putIfAbsent(words[2], new Named(number, words[1]));
        if (before != null) {
            mistake(
                    number,
                    "pattern '" + PolicyText.shown(words[2]) + "' is in line " + before.line() + " already, for group "
                            + PolicyText.shown(before.group()) + "; a lock belongs to one group");
        }
    }

    private void acceptPrevious(int number, String[] words) {
        if (words.length != 2) {
            mistake(number, "one group follows accept-previous: accept-previous payments");
        } else if (acceptPrevious.putIfAbsent(words[1], number) != null) {
            mistake(number, "accept-previous " + PolicyText.shown(words[1]) + " is there already; leave it out");
        }
    }

    /** The first of each line. */
    private void mistake(int line, String what) {
        mistakes.putIfAbsent(line, path + ":" + line + ": " + what);
    }

    GuardGroups done() throws FileMistakes {
        patterns.values().forEach(named -> requireGroup(named.line(), named.group()));
        acceptPrevious.forEach((group, line) -> requireGroup(line, group));
        for (GuardGroups.Group group : groups.values()) {
            if (patterns.values().stream().noneMatch(named -> named.group().equals(group.name()))) {
                mistake(
                        group.line(),
                        "group " + group.name() + " has no locks; write some: locks " + group.name() + " "
                                + group.name() + "/*");
            }
        }
        if (groups.isEmpty() && mistakes.isEmpty()) {
            throw new FileMistakes(path, path + " has no group; write one: group payments payments.json");
        }
        if (!mistakes.isEmpty()) {
            throw new FileMistakes(path, List.copyOf(mistakes.values()));
        }
        Map<String, String> locks = new LinkedHashMap<>();
        patterns.forEach((pattern, named) -> locks.put(pattern, named.group()));
        return new GuardGroups(
                groups.values().stream()
                        .map(group -> new GuardGroups.Group(
                                group.line(), group.name(), group.keyset(), acceptPrevious.containsKey(group.name())))
                        .toList(),
                locks);
    }

    /** A group may stand below the lines that name it. */
    private void requireGroup(int line, String group) {
        if (!groups.containsKey(group)) {
            mistake(
                    line,
                    "no group is called " + PolicyText.shown(group) + "; "
                            + (groups.isEmpty()
                                    ? "write one: group payments payments.json"
                                    : PolicyText.meant(group, List.copyOf(groups.keySet()), "there are ")));
        }
    }
}
