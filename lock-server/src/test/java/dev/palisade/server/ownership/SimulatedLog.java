package dev.palisade.server.ownership;

import dev.palisade.server.ownership.LogState.Head;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A log and its process: records, what happens to them, and every earlier state that a lagging copy may still have. */
final class SimulatedLog {
    /** What is stored, and can come back. */
    record Stored(@Nullable Head head, List<Integer> content) {}

    private static final int COPIES_MAX = 4;

    final LogRules rules;
    LogState state = new LogState(null, 0, "i0", null, null);
    List<Integer> content = List.of();
    List<Stored> copies = List.of();
    private int instances;

    SimulatedLog(LogRules rules) {
        this.rules = rules;
    }

    SimulatedLog(SimulatedLog other) {
        this.rules = other.rules;
        this.state = other.state;
        this.content = other.content;
        this.copies = other.copies;
        this.instances = other.instances;
    }

    ClaimReply claim(ClaimRequest request, long now) {
        ClaimDecision decision = rules.claim(state, request, now);
        state = decision.next();
        if (decision.reply() instanceof ClaimReply.Claimed) {
            remember();
        }
        return decision.reply();
    }

    /** @param next the content with the batch; the same one for an empty batch */
    boolean append(AppendRequest request, List<Integer> next, long now) {
        AppendDecision decision = rules.append(state, request, now);
        state = decision.next();
        if (decision.stored() && !next.equals(content)) {
            content = next;
            remember();
        }
        return decision.stored();
    }

    private void remember() {
        List<Stored> longer = new ArrayList<>(copies);
        longer.add(new Stored(state.head(), content));
        copies = List.copyOf(longer.size() > COPIES_MAX ? longer.subList(1, longer.size()) : longer);
    }

    /** The process ends: a new one has the data, and saw nothing. */
    void restart() {
        state = new LogState(state.head(), state.tokens(), "i" + ++instances, null, null);
    }

    /** The data are gone, and the process stays. */
    void flush() {
        state = new LogState(null, 0, state.instance(), state.seen(), null);
        content = List.of();
        copies = List.of();
    }

    /** The functions are loaded again: their variables are gone, and nothing else. */
    void reloadLibrary() {
        state = new LogState(state.head(), state.tokens(), state.instance(), null, null);
    }

    /** Earlier data come back, under a process that saw later ones. */
    void restore(int copy) {
        Stored stored = copies.get(copy);
        state = new LogState(stored.head(), state.tokens(), state.instance(), state.seen(), null);
        content = stored.content();
        copies = copies.subList(0, copy + 1);
    }

    void addTo(Digest digest) {
        Head head = state.head();
        digest.add(head != null);
        if (head != null) {
            digest.add(head.writer().low())
                    .add(head.seq())
                    .add(head.base())
                    .add(head.term())
                    .add(head.untilMillis())
                    .add(head.server().hashCode())
                    .add(head.rewriting())
                    .add(head.whole())
                    .add(head.recoveringUntilMillis())
                    .add(head.instance().hashCode());
        }
        digest.add(state.instance().hashCode()).add(content);
        LogState.Seen seen = state.seen();
        digest.add(seen != null);
        if (seen != null) {
            digest.add(seen.position())
                    .add(seen.seq())
                    .add(seen.writer().low())
                    .add(seen.instance().hashCode());
        }
        LogState.Settling settling = state.settling();
        digest.add(settling != null);
        if (settling != null) {
            digest.add(settling.at()).add(settling.sinceMillis()).add(settling.term());
        }
        digest.add(copies.size());
        for (Stored copy : copies) {
            digest.add(copy.head() == null ? -1 : copy.head().term()).add(copy.content());
            if (copy.head() != null) {
                digest.add(copy.head().writer().low())
                        .add(copy.head().seq())
                        .add(copy.head().untilMillis());
            }
        }
    }
}
