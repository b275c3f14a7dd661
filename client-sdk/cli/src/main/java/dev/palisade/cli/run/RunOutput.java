package dev.palisade.cli.run;

import dev.palisade.cli.term.CallerName;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.cli.term.TimeFormat;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.LockDescription;
import dev.palisade.contract.HolderInfo;
import dev.palisade.contract.Mode;
import java.io.PrintStream;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/**
 * Message writer of {@code palisade run} on standard error. Each message is one prefixed line, to be distinguishable
 * from the output of the command.
 */
final class RunOutput {
    private final PrintStream err;
    private final boolean quiet;
    private final Clock clock;

    RunOutput(PrintStream err, boolean quiet, Clock clock) {
        this.err = err;
        this.quiet = quiet;
        this.clock = clock;
    }

    /** Prints {@code line} also with {@code --quiet}. */
    void print(String line) {
        err.println("palisade run: " + TerminalText.text(line));
        err.flush();
    }

    /** Prints {@code line} unless {@code --quiet} was given. */
    void printUnlessQuiet(String line) {
        if (!quiet) {
            print(line);
        }
    }

    String busy(String lock, AcquireResult.Busy busy) {
        String by = busy.holder()
                .map(holder -> "held by " + described(holder))
                .orElse((busy.minimumHoldRemaining().isZero()
                                ? "in lock-delay or offered to a waiter, for another "
                                : "in its minimum hold time or in lock-delay, for another ")
                        + TimeFormat.duration(busy.remaining()));
        return lock + " is taken: " + by + "; the command did not run";
    }

    static boolean isHeldByThisProcess(LockDescription lock) {
        return lock.holders().stream().anyMatch(holder -> holder.owner().equals(CallerName.process()));
    }

    String waiting(LockDescription lock) {
        StringBuilder line = new StringBuilder("waiting for " + lock.lock() + ": ");
        Duration recovering = lock.epoch().map(epoch -> epoch.recovering()).orElse(Duration.ZERO);
        if (!lock.holders().isEmpty()) {
            line.append("held by ").append(described(lock.holders().get(0)));
            if (lock.holdersTotal() > 1) {
                line.append(" and ").append(lock.holdersTotal() - 1).append(" more");
            }
        } else if (!recovering.isZero()) {
            line.append("no lock is granted for another ")
                    .append(TimeFormat.duration(recovering))
                    .append(", because the store lost data");
        } else if (lock.minimumHoldRemaining().compareTo(lock.lockDelayRemaining()) > 0) {
            line.append("free, in its minimum hold time for another ")
                    .append(TimeFormat.duration(lock.minimumHoldRemaining()));
        } else if (!lock.lockDelayRemaining().isZero()) {
            line.append("free, in lock-delay for another ").append(TimeFormat.duration(lock.lockDelayRemaining()));
        } else {
            line.append("offered to a waiter");
        }
        int position = positionInQueue(lock.waiters());
        if (position > 0) {
            line.append("; position ")
                    .append(position)
                    .append(" of ")
                    .append(lock.waitersTotal())
                    .append(" in the queue");
        }
        return line.toString();
    }

    private String described(HolderInfo holder) {
        String purpose = holder.purpose().isEmpty() ? "" : " (" + holder.purpose() + ")";
        String since = TimeFormat.at(clock.instant().minus(holder.held()), clock.getZone());
        return (holder.owner().isEmpty() ? "a client without a name" : holder.owner()) + purpose + " since " + since
                + ", for "
                + TimeFormat.duration(holder.held()) + ", token " + holder.token()
                + (holder.mode() == Mode.SHARED ? ", " + holder.mode().name().toLowerCase(Locale.ROOT) : "");
    }

    private static int positionInQueue(List<LockDescription.Waiter> waiters) {
        String self = CallerName.process();
        for (int i = 0; i < waiters.size(); i++) {
            if (waiters.get(i).owner().equals(self)) {
                return i + 1;
            }
        }
        return 0;
    }
}
