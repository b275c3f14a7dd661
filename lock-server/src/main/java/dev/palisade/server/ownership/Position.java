package dev.palisade.server.ownership;

/**
 * Position in a log: directly after batch {@code seq} of {@code writer}. A writer never appends two different batches with one
 * {@code seq}, so logs with equal positions have equal histories.
 *
 * @param seq counts the batches of this writer from 1; 0 only in {@link #NONE}
 */
public record Position(WriterId writer, long seq) {
    /** Position of a log without a batch. */
    public static final Position NONE = new Position(WriterId.NONE, 0);

    /** Position of the last batch of a log: a claim alone writes no history. */
    public static Position last(WriterId writer, long seq, Position base) {
        return seq == 0 ? base : new Position(writer, seq);
    }

    /** Whether every log that is at {@code other} has been here. */
    public boolean isUpTo(Position other) {
        return writer.equals(other.writer) && seq <= other.seq;
    }

    /** {@code writer:seq}. */
    @Override
    public String toString() {
        return writer + ":" + seq;
    }
}
