package dev.palisade.client;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockName;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * An explanation of one grant of a lock, for people: why calls with its token were refused. Its sentences quote names
 * and reasons that other clients wrote: escape them before a terminal or a page shows them. Programs go by
 * {@code state}, {@code what} and {@code refusal}; the sentences may change.
 *
 * @param lock which lock
 * @param token which token it is about; empty: no grant of the lock is known
 * @param at when the server made it, by its clock
 * @param state a word of the reference of commands, such as HELD or EXPIRED; a newer server may have more
 * @param summary one sentence
 * @param events the timers, oldest first, at most 100
 * @param unknown what the server does not know, and why: a sentence each
 * @param advice what to do now: a sentence each
 */
public record LockExplanation(
        LockName lock,
        Optional<FencingToken> token,
        Instant at,
        String state,
        String summary,
        List<Event> events,
        List<String> unknown,
        List<String> advice) {
    public LockExplanation {
        events = List.copyOf(events);
        unknown = List.copyOf(unknown);
        advice = List.copyOf(advice);
    }

    /**
     * One event of the timers.
     *
     * @param at by the server's clock
     * @param what a word of the reference of commands, such as GRANTED or REFUSED; a newer server may have more
     * @param token empty: it is of no token
     * @param text one sentence
     * @param refusal of MARK_RAISED and REFUSED
     */
    public record Event(
            Instant at, String what, Optional<FencingToken> token, String text, Optional<Refusal> refusal) {}

    /**
     * Equal calls that a guard refused. A guard reports what it says it refused; the server cannot verify it.
     *
     * @param guard what the guard calls itself
     * @param principal whom the lock server authenticated as the sender of the report; empty without authentication
     * @param resource what it guards
     * @param reason a word of the list of reasons; a newer guard may have more
     * @param presentedToken that of the refused calls
     * @param markToken the larger token that the guard had seen; empty: it refused for another reason
     * @param count how many calls
     */
    public record Refusal(
            String guard,
            String principal,
            String resource,
            String reason,
            FencingToken presentedToken,
            Optional<FencingToken> markToken,
            long count) {}
}
