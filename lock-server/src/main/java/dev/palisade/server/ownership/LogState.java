package dev.palisade.server.ownership;

import org.jspecify.annotations.Nullable;

/**
 * State of a fenced log without its records: what is stored, and what only the log's process knows.
 *
 * @param head stored; {@code null} in an empty log
 * @param tokens stored: the count of tokens
 * @param instance identity of the process's history, such as Redis' replication id; another one after a restart or promotion
 * @param seen the last claim or append that this process executed; {@code null} after a start, promotion or reload of the library
 * @param settling known to the process: the wait for the last owner of a log that is not whole
 */
public record LogState(
        @Nullable Head head,
        long tokens,
        String instance,
        @Nullable Seen seen,
        @Nullable Settling settling) {

    /**
     * Stored with the records, and written last by every append.
     *
     * @param writer the owner
     * @param seq of its last batch; 0 before the first
     * @param base position that the owner's claim found
     * @param whole whether the owner's claim found the log whole; of no meaning after its first batch
     * @param term counts the claims; ranks candidates
     * @param server id of the owner's process, another one for each start
     * @param address where clients reach the owner
     * @param untilMillis end of the claim
     * @param instance the process's at the last append
     * @param generation of the records that count
     * @param rewriting generation that the owner is writing because the log lost batches; 0 for none
     * @param recoveringUntilMillis end of the recovery window; 0 for none
     */
    public record Head(
            WriterId writer,
            long seq,
            Position base,
            boolean whole,
            long term,
            String server,
            String address,
            long untilMillis,
            String instance,
            long generation,
            long rewriting,
            long recoveringUntilMillis) {

        /** Position of the last batch. */
        public Position position() {
            return Position.last(writer, seq, base);
        }

        /** Of a log that lacks batches: none of its history is sure to be there. */
        public Head withoutHistory() {
            return with(0, Position.NONE, false, untilMillis);
        }

        Head withUntil(long millis) {
            return with(seq, base, whole, millis);
        }

        private Head with(long newSeq, Position newBase, boolean isWhole, long newUntilMillis) {
            return new Head(
                    writer,
                    newSeq,
                    newBase,
                    isWhole,
                    term,
                    server,
                    address,
                    newUntilMillis,
                    instance,
                    generation,
                    rewriting,
                    recoveringUntilMillis);
        }
    }

    /** What the process keeps of its last claim or append. */
    public record Seen(WriterId writer, long seq, Position position, String instance) {
        static Seen of(Head head) {
            return new Seen(head.writer(), head.seq(), head.position(), head.instance());
        }
    }

    /**
     * Wait of a log that is not whole.
     *
     * @param at the log's position
     * @param sinceMillis time of the first claim
     * @param term highest term of a candidate
     */
    public record Settling(Position at, long sinceMillis, long term) {}

    /**
     * State of a log in a product that keeps what it stored: what the process saw last is what is stored, while the process is the same.
     *
     * @param instance empty when the stored head is not what the process wrote
     */
    public static LogState lasting(@Nullable Head head, long tokens, String instance, @Nullable Settling settling) {
        Seen seen = head == null || !head.instance().equals(instance) ? null : Seen.of(head);
        return new LogState(head, tokens, instance, seen, settling);
    }

    /** Position of the log's last batch. */
    public Position position() {
        return head == null ? Position.NONE : head.position();
    }

    /** Whether this process executed the last claim or append of the stored head. */
    boolean executedLast() {
        return head != null
                && seen != null
                && seen.writer().equals(head.writer())
                && seen.seq() == head.seq()
                && seen.instance().equals(instance);
    }
}
