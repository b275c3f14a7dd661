package dev.palisade.server.access;

import dev.palisade.contract.LockName;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/**
 * Groups of guards, and the locks of each: the longest pattern that fits a lock decides, and a lock that none fits belongs to no
 * group. Immutable; safe to share between threads.
 *
 * <pre>
 * group payments payments.json
 * locks payments payments/*
 * locks payments invoices/*
 * accept-previous payments
 * </pre>
 */
public final class GuardGroups {
    private final Map<String, Group> groups;
    private final Map<String, String> exact = new LinkedHashMap<>();
    private final Map<String, String> prefixes = new LinkedHashMap<>();
    private final int[] prefixLengths;

    /**
     * One group.
     *
     * @param line of the file, from 1
     * @param name the audience of its sequencers
     * @param keyset file of the keys that sign them
     * @param acceptsPrevious whether sequencers without an audience are still accepted for its locks
     */
    public record Group(int line, String name, Path keyset, boolean acceptsPrevious) {}

    /** @param patterns each a lock name, or its beginning and {@code *}, with the group's name */
    GuardGroups(Collection<Group> groups, Map<String, String> patterns) {
        this.groups = new LinkedHashMap<>();
        groups.forEach(group -> this.groups.put(group.name(), group));
        patterns.forEach((pattern, group) -> {
            if (pattern.endsWith("*")) {
                prefixes.put(pattern.substring(0, pattern.length() - 1), group);
            } else {
                exact.put(pattern, group);
            }
        });
        TreeSet<Integer> lengths = new TreeSet<>(Comparator.reverseOrder());
        prefixes.keySet().forEach(prefix -> lengths.add(prefix.length()));
        this.prefixLengths = lengths.stream().mapToInt(Integer::intValue).toArray();
    }

    /** Of a server whose locks belong to no group. */
    public static GuardGroups none() {
        return new GuardGroups(List.of(), Map.of());
    }

    /** @throws FileMistakes all of them */
    public static GuardGroups parse(Path file, String text) throws FileMistakes {
        GuardGroupsParser parser = new GuardGroupsParser(file);
        String[] lines = text.split("\\r?\\n", -1);
        for (int i = 0; i < lines.length; i++) {
            parser.line(i + 1, lines[i].strip());
        }
        return parser.done();
    }

    /** All groups, in the order of the file. */
    public List<Group> all() {
        return new ArrayList<>(groups.values());
    }

    /** The group whose guards protect what {@code lock} is for. */
    public Optional<Group> of(LockName lock) {
        String name = lock.value();
        String group = exact.get(name);
        for (int i = 0; group == null && i < prefixLengths.length; i++) {
            if (prefixLengths[i] <= name.length()) {
                group = prefixes.get(name.substring(0, prefixLengths[i]));
            }
        }
        return Optional.ofNullable(group).map(groups::get);
    }
}
