package dev.palisade.cli.watchdog;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/** A message between {@code palisade run} and its watchdog. */
public sealed interface Message {
    /**
     * To the watchdog, first and once: start the command.
     *
     * @param command program and arguments
     * @param environment added to the watchdog's own
     * @param termination how to terminate it
     * @param ttl of the lease; a shorter ttl makes the watchdog poll more often
     */
    record Start(List<String> command, Map<String, String> environment, TerminationPolicy termination, Duration ttl)
            implements Message {}

    /** From the watchdog: requests the remaining validity of the lease. */
    record ValidityRequest() implements Message {}

    /**
     * To the watchdog: how long the lease is certainly valid, counted from the time of the request. A delay of request
     * or reply therefore only makes the watchdog act earlier.
     */
    record ValidityReply(Duration remaining) implements Message {}

    /** To the watchdog: send this signal to the command, and SIGKILL after {@link TerminationPolicy#killAfter}. */
    record Signal(String name) implements Message {}

    /** To the watchdog: the lease is lost. */
    record Lost() implements Message {}

    /** From the watchdog: the command runs and leads the process group of this id. */
    record Started(long pid) implements Message {}

    /** From the watchdog: the command could not be started, and no process of it runs. */
    record Failed(String why) implements Message {}

    /**
     * From the watchdog, last: the command has ended.
     *
     * @param exitCode of its first process, 128 + n after signal n; 0 if it was never started
     * @param lost whether it was terminated because the lease was lost
     * @param groupEmpty whether its process group is empty
     */
    record Ended(int exitCode, boolean lost, boolean groupEmpty) implements Message {}
}
