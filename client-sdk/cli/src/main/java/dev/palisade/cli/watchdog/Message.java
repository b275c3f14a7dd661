package dev.palisade.cli.watchdog;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/** What {@code palisade run} and its watchdog say to each other. */
public sealed interface Message {
    /**
     * To the watchdog, first and once: run this.
     *
     * @param command program and arguments
     * @param environment added to the watchdog's own
     * @param ending how to end it
     * @param ttl of the lease; the watchdog asks the oftener, the shorter it is
     */
    record Start(List<String> command, Map<String, String> environment, Ending ending, Duration ttl)
            implements Message {}

    /** From the watchdog: for how long is the lease certain to hold? */
    record Ask() implements Message {}

    /**
     * To the watchdog, the answer. It counts from the moment the question was sent, so that whatever delays either of them
     * only makes the watchdog act earlier.
     */
    record Holds(Duration remaining) implements Message {}

    /** To the watchdog: send the command this signal, and SIGKILL if it has not ended some time later. */
    record Signal(String name) implements Message {}

    /** To the watchdog: the lease is over. */
    record Lost() implements Message {}

    /** From the watchdog: the command runs, and leads the process group of this number. */
    record Started(long pid) implements Message {}

    /** From the watchdog: the command could not be started; nothing runs. */
    record Failed(String why) implements Message {}

    /**
     * From the watchdog, last: the command has ended.
     *
     * @param exitCode its first process's, 128 + n if a signal ended it; 0 if it was never started
     * @param lost whether it was ended because the lease was over
     * @param whole whether nothing of its process group is left
     */
    record Ended(int exitCode, boolean lost, boolean whole) implements Message {}
}
