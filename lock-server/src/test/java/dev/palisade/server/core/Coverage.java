package dev.palisade.server.core;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.Reason;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Counts what was reached: commands, answers, refusals, ends and events. A walk that never got somewhere proves nothing
 * about it. The sealed types name what there is, so that a new kind is demanded without being listed here.
 */
public final class Coverage {
    /** What the core refuses with, and no other. */
    static final Set<Reason> REASONS = Set.of(
            Reason.MALFORMED_REQUEST,
            Reason.NOT_HOLDER,
            Reason.TOKEN_MISMATCH,
            Reason.LEASE_EXPIRED,
            Reason.QUEUE_FULL,
            Reason.LIMIT_EXCEEDED,
            Reason.TOKENS_EXHAUSTED,
            Reason.RECOVERING);

    private final Map<String, Integer> counts = new TreeMap<>();

    void count(LockState before, Command command, Decision decision) {
        String verb = command.getClass().getSimpleName();
        add("command " + verb);
        add("answer " + decision.answer().getClass().getSimpleName());
        if (decision.answer() instanceof Answer.Refused refused) {
            add("reason " + refused.rejection().reason());
            add("pair " + verb + " " + refused.rejection().reason());
        } else {
            add("pair " + verb + " " + decision.answer().getClass().getSimpleName());
        }
        if (decision.answer() instanceof Answer.WaitEnded ended) {
            add("wait ended " + ended.end());
        }
        for (LockEvent event : decision.events()) {
            add("event " + event.getClass().getSimpleName());
            if (event instanceof LockEvent.Ended ended) {
                add("end " + ended.tombstone().end());
            }
            if (event instanceof LockEvent.Reclaimed reclaimed) {
                boolean queued = before.waiter(reclaimed.grant().id()).isPresent()
                        || before.offer(reclaimed.grant().id()).isPresent();
                add(queued ? "reclaimed out of the queue" : "reclaimed by nobody known");
                add(endsEarly(before, decision) ? "reclaimed over an older one" : "reclaimed alone");
            }
        }
        if (decision.answer() instanceof Answer.ReleaseRequested asked) {
            add("asked " + several(asked.holders()));
        }
        if (decision.answer() instanceof Answer.ForceReleased released) {
            add("forced " + several(released.leases()));
        }
        if (decision.answer() instanceof Answer.Checked checked) {
            add("checked " + checked.alive());
        }
        decision.next().waiters().forEach(w -> add("lapse " + w.lapse()));
    }

    private static boolean endsEarly(LockState before, Decision decision) {
        return decision.events().stream()
                .anyMatch(event -> event instanceof LockEvent.Ended ended
                        && ended.tombstone().end() == End.EXPIRED
                        && before.holder(ended.tombstone().grant())
                                .filter(held -> held.expiresAtMillis()
                                        > ended.tombstone().endedAtMillis())
                                .isPresent());
    }

    private static String several(int count) {
        return count > 1 ? "several" : Integer.toString(count);
    }

    void add(String what) {
        counts.merge(what, 1, Integer::sum);
    }

    /** Fails unless everything there is was reached {@code floor} times. */
    public void requireAll(int floor) {
        List<String> wanted = new ArrayList<>();
        for (Class<?> kind : Command.class.getPermittedSubclasses()) {
            wanted.add("command " + kind.getSimpleName());
        }
        for (Class<?> kind : Answer.class.getPermittedSubclasses()) {
            wanted.add("answer " + kind.getSimpleName());
        }
        for (Class<?> kind : LockEvent.class.getPermittedSubclasses()) {
            wanted.add("event " + kind.getSimpleName());
        }
        for (Reason reason : REASONS) {
            wanted.add("reason " + reason);
        }
        for (End end : End.values()) {
            wanted.add("end " + end);
        }
        for (Waiter.Lapse lapse : Waiter.Lapse.values()) {
            wanted.add("lapse " + lapse);
        }
        wanted.addAll(List.of(
                "asked 0",
                "asked 1",
                "asked several",
                "forced 0",
                "forced 1",
                "forced several",
                "checked true",
                "checked false",
                "pair Barrier TOKENS_EXHAUSTED",
                "wait ended LEFT",
                "wait ended TIMED_OUT",
                "wait ended DROPPED",
                "pair Acquire LEASE_EXPIRED",
                "pair Accept Granted",
                "pair Accept Queued",
                "pair Accept NOT_HOLDER",
                "pair Accept TOKEN_MISMATCH",
                "pair Accept LEASE_EXPIRED",
                "pair Renew NOT_HOLDER",
                "pair Renew TOKEN_MISMATCH",
                "pair Renew LEASE_EXPIRED",
                "pair Release NOT_HOLDER",
                "pair Release TOKEN_MISMATCH",
                "pair Release LEASE_EXPIRED",
                "pair Resume NOT_HOLDER",
                "pair Resume TOKEN_MISMATCH",
                "pair Resume LEASE_EXPIRED",
                "pair Acquire RECOVERING",
                "pair CheckSequencer RECOVERING",
                "pair Reclaim Resumed",
                "pair Reclaim NOT_HOLDER",
                "pair Reclaim LEASE_EXPIRED",
                "pair Reclaim TOKEN_MISMATCH",
                "reclaimed alone",
                "reclaimed by nobody known",
                "reclaimed over an older one",
                "reclaimed out of the queue"));
        List<String> missed = wanted.stream()
                .filter(what -> counts.getOrDefault(what, 0) < floor)
                .map(what -> what + ": " + counts.getOrDefault(what, 0))
                .toList();
        assertThat(missed)
                .as("reached fewer than %d times; all: %s", floor, counts)
                .isEmpty();
        assertThat(counts.keySet().stream().filter(what -> what.startsWith("reason ")))
                .as("reasons of the core")
                .allMatch(what -> REASONS.contains(Reason.valueOf(what.substring("reason ".length()))));
    }

    @Override
    public String toString() {
        return counts.toString();
    }
}
