package dev.palisade.server.ownership;

import java.util.ArrayList;
import java.util.List;

/**
 * Positions that a lock server's memory went through. A claim presents them, and the log compares them with its own position:
 * memory is never written over a history that is not part of it.
 *
 * @param term of the claim under which the newest position was written; 0 without memory. Ranks candidates, compares no owners
 * @param resumes whether memory may be kept after a loss of the log ({@code --after-loss resume})
 * @param confirmed where memory certainly is
 * @param unconfirmed where memory is if every unacknowledged batch was stored; {@link Position#NONE} without one. Its writer's
 *     positions that nothing else here reaches are those of the batches in flight before it
 * @param earlier other positions that are part of memory, newest first, at most {@value #EARLIER_MAX}
 */
public record Past(long term, boolean resumes, Position confirmed, Position unconfirmed, List<Position> earlier) {
    /** Most positions in {@code earlier}. */
    public static final int EARLIER_MAX = 8;

    /** No log is ever there: seq 0 is that of an empty one. */
    private static final Position NOWHERE = new Position(WriterId.NONE, 1);

    /** Of a server without memory. */
    public static final Past NONE = new Past(0, false, Position.NONE, Position.NONE, List.of());

    public Past {
        earlier = List.copyOf(earlier);
    }

    /** Of memory that was loaded from a log at {@code position}, under a claim with {@code term}. */
    static Past loaded(long term, boolean resumes, Position position) {
        return new Past(term, resumes, position, Position.NONE, List.of());
    }

    /** Whether there is no memory. */
    public boolean isNone() {
        return term == 0;
    }

    /** Whether a log at {@code found} holds all of memory, but for unacknowledged batches at most. */
    public boolean isCurrent(Position found) {
        return !isNone() && (found.equals(confirmed) || isUnconfirmed(found));
    }

    /** Whether a log at {@code found} holds unacknowledged batches. */
    private boolean isUnconfirmed(Position found) {
        return found.isUpTo(unconfirmed)
                && !found.equals(Position.NONE)
                && !found.isUpTo(confirmed)
                && earlier.stream().noneMatch(found::isUpTo);
    }

    /** How many of {@code sent} unacknowledged appends a log at {@code found} does not hold, if it is current. */
    public int missing(int sent, Position found) {
        return isUnconfirmed(found) ? (int) (unconfirmed.seq() - found.seq()) : sent;
    }

    /** Whether the history of a log at {@code found} is part of memory. */
    public boolean covers(Position found) {
        return !isNone() && (found.equals(Position.NONE) || all().stream().anyMatch(found::isUpTo));
    }

    /** Whether a log at {@code found} has lost batches that memory knows to have been stored. */
    public boolean misses(Position found) {
        return covers(found) && !isCurrent(found);
    }

    /** A batch was sent after those that are in flight, and its append is not acknowledged. */
    Past sent(Position position) {
        return new Past(term, resumes, confirmed, position, earlier);
    }

    /** The oldest batch in flight is stored: the log was at {@code position} after it. */
    Past storedAt(Position position) {
        Past stored = confirmedAt(position, term);
        return position.equals(unconfirmed) ? stored : stored.sent(unconfirmed);
    }

    /** A log is at {@code position}, and no batch is in flight: it holds no more without another append. */
    Past confirmedAt(Position position, long newTerm) {
        List<Position> newest = new ArrayList<>();
        newest.add(confirmed);
        newest.addAll(earlier);
        newest.removeIf(
                each -> each.writer().equals(position.writer()) || each.writer().equals(WriterId.NONE));
        return new Past(
                newTerm, resumes, position, Position.NONE, newest.subList(0, Math.min(newest.size(), EARLIER_MAX)));
    }

    /** The same memory under a newer claim. */
    Past under(long newTerm) {
        return new Past(newTerm, resumes, confirmed, unconfirmed, earlier);
    }

    /** Memory is about to be copied into a log: until the last part of the copy is stored, no log holds all of it. */
    Past copying() {
        List<Position> known = new ArrayList<>(all());
        known.removeIf(each -> each.writer().equals(WriterId.NONE));
        return new Past(
                term,
                resumes,
                NOWHERE,
                Position.NONE,
                known.subList(Math.max(0, known.size() - EARLIER_MAX), known.size()));
    }

    /** A log at {@code position} holds a part of memory: it is rewritten from memory. */
    Past partlyAt(Position position) {
        List<Position> newest = new ArrayList<>(earlier);
        newest.removeIf(each -> each.writer().equals(position.writer()));
        newest.add(0, position);
        return new Past(term, resumes, confirmed, unconfirmed, newest.subList(0, Math.min(newest.size(), EARLIER_MAX)));
    }

    private List<Position> all() {
        List<Position> all = new ArrayList<>(earlier);
        all.add(confirmed);
        all.add(unconfirmed);
        return all;
    }
}
