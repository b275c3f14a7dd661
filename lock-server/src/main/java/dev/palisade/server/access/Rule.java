package dev.palisade.server.access;

import java.util.Set;

/**
 * One {@code allow} line of a policy.
 *
 * @param line of the file, from 1
 * @param who a principal, {@code @GROUP}, or {@code *} for every principal
 * @param pattern a lock name, or its beginning and {@code *}
 * @param text the line as it stands
 */
record Rule(int line, String who, Set<Verb> verbs, String pattern, String text) {
    boolean isPrefix() {
        return pattern.endsWith("*");
    }

    /** The pattern without its {@code *}. */
    String stem() {
        return isPrefix() ? pattern.substring(0, pattern.length() - 1) : pattern;
    }

    boolean matches(String lock) {
        return isPrefix() ? lock.startsWith(stem()) : lock.equals(pattern);
    }

    /** Exclusive contains shared. What is of the whole server needs a pattern for every lock. */
    boolean allows(Verb verb) {
        return switch (verb) {
            case ACQUIRE_SHARED -> verbs.contains(verb) || verbs.contains(Verb.ACQUIRE);
            case OPERATE -> verbs.contains(verb) && pattern.equals("*");
            default -> verbs.contains(verb);
        };
    }
}
