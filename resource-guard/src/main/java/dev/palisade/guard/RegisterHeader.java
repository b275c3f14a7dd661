package dev.palisade.guard;

import dev.palisade.guard.RegisterRows.State;

/**
 * The field {@code state} of a register in {@link MarkStore.SharedFields}: what all of its guards have to know, in words with a
 * space between.
 *
 * @param generation new whenever fields may have been lost; a guard that joined another one joins again
 * @param marksId {@link MarkStore#id}
 * @param process which process and history of the store all fields were written in
 * @param used whether there is a mark or a base mark
 * @param forgot whether entries of calls may have been lost before this epoch
 */
record RegisterHeader(
        String generation,
        String marksId,
        String process,
        long epoch,
        long settled,
        boolean complete,
        boolean used,
        boolean forgot,
        long deltaMillis,
        long leaseMillis) {
    private static final int WORDS = 10;

    static RegisterHeader parse(String text) {
        String[] words = text.split(" ", -1);
        try {
            if (words.length == WORDS) {
                return new RegisterHeader(
                        words[0],
                        words[1],
                        words[2],
                        Long.parseLong(words[3]),
                        Long.parseLong(words[4]),
                        words[5].equals("complete"),
                        words[6].equals("used"),
                        words[7].equals("forgot"),
                        Long.parseLong(words[8]),
                        Long.parseLong(words[9]));
            }
        } catch (NumberFormatException e) {
            // Said below.
        }
        throw Unavailable.because(
                "the field state of the shared register is damaged; nothing was applied: stop all guards,"
                        + " delete the register's key, and start them: a new register asks the lock service for base marks");
    }

    String text() {
        return String.join(
                " ",
                generation,
                marksId,
                process,
                Long.toString(epoch),
                Long.toString(settled),
                complete ? "complete" : "incomplete",
                used ? "used" : "unused",
                forgot ? "forgot" : "whole",
                Long.toString(deltaMillis),
                Long.toString(leaseMillis));
    }

    /**
     * A guard that lives may still run calls that the register has forgotten. It enters them again within its lease, or asks
     * them to stop then; so after a loss an epoch waits that long, too.
     */
    State state() {
        return new State(epoch, settled, complete, deltaMillis, deltaMillis + (forgot ? leaseMillis : 0));
    }

    RegisterHeader settled(long newest) {
        return new RegisterHeader(
                generation, marksId, process, epoch, newest, complete, used, forgot, deltaMillis, leaseMillis);
    }

    RegisterHeader inUse() {
        return new RegisterHeader(
                generation, marksId, process, epoch, settled, complete, true, forgot, deltaMillis, leaseMillis);
    }

    /** All marks count as missing. Entries that an earlier epoch has lost are not waited for any longer than it did. */
    RegisterHeader raised() {
        return new RegisterHeader(
                generation,
                marksId,
                process,
                epoch + 1,
                settled,
                false,
                used,
                forgot && settled < epoch,
                deltaMillis,
                leaseMillis);
    }

    /** The same, and entries may have been lost. */
    RegisterHeader lost(long newEpoch, String newGeneration, String newProcess) {
        return new RegisterHeader(
                newGeneration, marksId, newProcess, newEpoch, settled, false, used, true, deltaMillis, leaseMillis);
    }

    RegisterHeader with(long delta, long lease) {
        return new RegisterHeader(
                generation,
                marksId,
                process,
                epoch,
                settled,
                complete,
                used,
                forgot,
                Math.max(deltaMillis, delta),
                Math.max(leaseMillis, lease));
    }
}
