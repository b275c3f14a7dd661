package dev.palisade.server.access;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What a line of the policy can allow. */
public enum Verb {
    /** Acquire in any mode, and keep what was acquired. */
    ACQUIRE,
    /** Acquire SHARED, and keep what was acquired. */
    ACQUIRE_SHARED,
    /** See holders, waiters and history; see the lock in lists. */
    DESCRIBE,
    /** Ask holders to give the lock up. */
    REVOKE,
    /** End a lease without its holder. */
    FORCE_RELEASE,
    /** Draw a barrier token, as guards do. */
    GUARD,
    /** See sessions and the store. Of the whole server: its pattern is {@code *}. */
    OPERATE;

    /** As the policy writes it: {@code acquire-shared}. */
    public String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Empty when no verb is written so. */
    public static Optional<Verb> of(String word) {
        return Arrays.stream(values()).filter(verb -> verb.word().equals(word)).findFirst();
    }

    /** All of them, as the policy writes them. */
    public static List<String> words() {
        return Arrays.stream(values()).map(Verb::word).toList();
    }
}
