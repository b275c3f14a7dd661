package dev.palisade.server.access;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What one principal may do and use, by the policy of one moment. Immutable. */
public final class Rights {
    private final List<Rule> rules;
    private final List<Range> visible;
    private final int sessions;
    private final int requestsPerSecond;
    private final int locks;
    private final int waiters;

    /**
     * Locks that a principal may see: one name, or all names that begin with it.
     *
     * @param isPrefix whether {@code stem} is a beginning
     */
    public record Range(String stem, boolean isPrefix) {
        boolean contains(Range other) {
            return isPrefix ? other.stem.startsWith(stem) : equals(other);
        }
    }

    Rights(List<Rule> rules, List<Quota> quotas) {
        this.rules = List.copyOf(rules);
        this.sessions = highest(quotas, Quota::sessions);
        this.requestsPerSecond = highest(quotas, Quota::requestsPerSecond);
        this.locks = highest(quotas, Quota::locks);
        this.waiters = highest(quotas, Quota::waiters);
        this.visible = disjoint(rules.stream()
                .filter(rule -> rule.allows(Verb.DESCRIBE))
                .map(rule -> new Range(rule.stem(), rule.isPrefix()))
                .toList());
    }

    private static int highest(List<Quota> quotas, ToIntFunction<Quota> limit) {
        return quotas.stream().mapToInt(limit).max().orElse(0);
    }

    private static List<Range> disjoint(List<Range> ranges) {
        List<Range> kept = new ArrayList<>();
        // A prefix comes before what it contains.
        Comparator<Range> order = Comparator.comparing(Range::stem).thenComparing(range -> !range.isPrefix());
        for (Range range : ranges.stream().sorted(order).toList()) {
            // All names with a beginning are next to each other, so only the last one kept can contain this one.
            if (kept.isEmpty() || !kept.get(kept.size() - 1).contains(range)) {
                kept.add(range);
            }
        }
        return List.copyOf(kept);
    }

    /** Whether some line allows it. */
    public boolean may(Verb verb, String lock) {
        return why(verb, lock).isPresent();
    }

    /** Whether some line allows it for some lock. */
    public boolean mayAnywhere(Verb verb) {
        return rules.stream().anyMatch(rule -> rule.allows(verb));
    }

    /** What is of the whole server, and of no lock. */
    public boolean mayOperate() {
        return mayAnywhere(Verb.OPERATE);
    }

    /** Most sessions at a time, or 0 when no line limits them. */
    public int sessionsMax() {
        return sessions;
    }

    /** Most requests a second, or 0 when no line limits them. */
    public int requestsPerSecondMax() {
        return requestsPerSecond;
    }

    /** Most locks held or waited for at a time, or 0 when no line limits them. */
    public int locksMax() {
        return locks;
    }

    /** Most requests that wait at a time, or 0 when no line limits them. */
    public int waitersMax() {
        return waiters;
    }

    /** The first line that allows it. */
    Optional<Rule> why(Verb verb, String lock) {
        return rules.stream()
                .filter(rule -> rule.allows(verb) && (verb == Verb.OPERATE || rule.matches(lock)))
                .findFirst();
    }

    List<Rule> rules() {
        return rules;
    }

    /** Of the locks that begin with {@code prefix}, those that may be seen: in the order of names, without overlap. */
    public List<Range> visible(String prefix) {
        Range asked = new Range(prefix, true);
        if (visible.stream().anyMatch(range -> range.contains(asked))) {
            return List.of(asked);
        }
        return visible.stream().filter(asked::contains).toList();
    }

    /** Rights are equal when they allow the same, whatever the order of the lines and the limits: those need no other stream. */
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Rights rights && allowed().equals(rights.allowed());
    }

    @Override
    public int hashCode() {
        return Objects.hash(allowed());
    }

    private Set<Rule> allowed() {
        return rules.stream()
                .map(rule -> new Rule(0, "", rule.verbs(), rule.pattern(), ""))
                .collect(Collectors.toUnmodifiableSet());
    }
}
