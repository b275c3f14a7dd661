package dev.palisade.cli.watchdog;

import java.time.Duration;

/**
 * How a command is ended.
 *
 * @param killAtOnce whether a lost lease means SIGKILL without a SIGTERM before it
 * @param killAfter how long after the first SIGTERM, or another signal that was passed on, SIGKILL follows
 */
public record Ending(boolean killAtOnce, Duration killAfter) {}
