package dev.palisade.cli.run;

import dev.palisade.cli.watchdog.ProcessGroup;
import dev.palisade.cli.watchdog.TerminationPolicy;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Forced termination of a command whose watchdog died or does not reply: SIGTERM while the lease is valid, then
 * SIGKILL.
 */
final class ForcedTermination {
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long STUCK_NANOS = TimeUnit.SECONDS.toNanos(5);

    /**
     * Result of a search for the command.
     *
     * @param certain whether a running command cannot have been missed
     */
    record Search(Optional<ProcessGroup> found, boolean certain) {}

    private ForcedTermination() {}

    /**
     * Searches for the command of a watchdog that died before it reported the process id. A process that has not
     * executed the command yet is still in the watchdog's session; the search waits for it.
     *
     * @param session of the watchdog; empty if it had no own session, and then an empty result is not certain
     * @param entry of the environment that only the command has
     * @param timeout after which the result is not certain
     */
    static Search find(OptionalLong session, String entry, Duration timeout) {
        long deadline = System.nanoTime() + timeout.toNanos();
        boolean previousPollWasEmpty = false;
        while (ProcessGroup.canSearch() && System.nanoTime() - deadline < 0) {
            // The order matters: a process that has left the session already has the entry.
            boolean starting = session.isPresent() && ProcessGroup.inSession(session.getAsLong());
            Optional<ProcessGroup> found = ProcessGroup.withEnvironment(entry);
            // A process that started with a smaller id during the first scan was not seen in the session.
            boolean stillInSession = session.isPresent()
                    && found.filter(group -> group.isLedBy(session.getAsLong())).isPresent();
            boolean settled = !starting && !stillInSession && (found.isPresent() || session.isPresent());
            // Only two empty polls are certain: a process has no environment during exec.
            if (settled && (found.isPresent() || previousPollWasEmpty)) {
                return new Search(found, true);
            }
            previousPollWasEmpty = settled;
            LockSupport.parkNanos(POLL_NANOS);
        }
        return new Search(Optional.empty(), false);
    }

    /**
     * Blocks until the process group is empty, or it cannot be killed.
     *
     * @param mayWait whether the command may still get time to end after SIGTERM
     * @return whether the process group is empty
     */
    static boolean terminate(ProcessGroup command, TerminationPolicy policy, BooleanSupplier mayWait) {
        if (!policy.killAtOnce() && mayWait.getAsBoolean()) {
            command.signal("TERM");
            long deadline = System.nanoTime() + policy.killAfter().toNanos();
            while (command.alive() && mayWait.getAsBoolean() && System.nanoTime() - deadline < 0) {
                LockSupport.parkNanos(POLL_NANOS);
            }
        }
        long deadline = System.nanoTime() + STUCK_NANOS;
        while (command.alive() && System.nanoTime() - deadline < 0) {
            command.kill();
            LockSupport.parkNanos(POLL_NANOS);
        }
        return !command.alive();
    }
}
