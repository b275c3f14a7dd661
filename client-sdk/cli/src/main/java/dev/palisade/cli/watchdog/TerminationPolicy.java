package dev.palisade.cli.watchdog;

import java.time.Duration;

/**
 * The termination policy of a command.
 *
 * @param killAtOnce whether SIGKILL follows a lost lease at once, without SIGTERM
 * @param killAfter time from the first SIGTERM or forwarded signal to SIGKILL
 */
public record TerminationPolicy(boolean killAtOnce, Duration killAfter) {}
