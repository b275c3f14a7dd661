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

/** What {@code palisade run} says on standard error: a line each, so that it stands out in the command's own output. */
final class Teller {
    private final PrintStream err;
    private final boolean quiet;
    private final Clock clock;

    Teller(PrintStream err, boolean quiet, Clock clock) {
        this.err = err;
        this.quiet = quiet;
        this.clock = clock;
    }

    /** Said always. */
    void tell(String line) {
        err.println("palisade run: " + TerminalText.text(line));
        err.flush();
    }

    /** Said unless quiet was asked for. */
    void inform(String line) {
        if (!quiet) {
            tell(line);
        }
    }

    String busy(String lock, AcquireResult.Busy busy) {
        String by = busy.holder()
                .map(holder -> "held by " + person(holder))
                .orElse((busy.minimumHoldRemaining().isZero()
                                ? "in lock-delay or offered to a waiter, for another "
                                : "in its minimum hold time or in lock-delay, for another ")
                        + TimeFormat.duration(busy.remaining()));
        return lock + " is taken: " + by + "; the command did not run";
    }

    static boolean isHeldByUs(LockDescription seen) {
        return seen.holders().stream().anyMatch(holder -> holder.owner().equals(CallerName.process()));
    }

    String waiting(LockDescription seen) {
        StringBuilder line = new StringBuilder("waiting for " + seen.lock() + ": ");
        Duration recovering = seen.epoch().map(epoch -> epoch.recovering()).orElse(Duration.ZERO);
        if (!seen.holders().isEmpty()) {
            line.append("held by ").append(person(seen.holders().get(0)));
            if (seen.holdersTotal() > 1) {
                line.append(" and ").append(seen.holdersTotal() - 1).append(" more");
            }
        } else if (!recovering.isZero()) {
            line.append("no lock is granted for another ")
                    .append(TimeFormat.duration(recovering))
                    .append(", because the store lost data");
        } else if (seen.minimumHoldRemaining().compareTo(seen.lockDelayRemaining()) > 0) {
            line.append("free, in its minimum hold time for another ")
                    .append(TimeFormat.duration(seen.minimumHoldRemaining()));
        } else if (!seen.lockDelayRemaining().isZero()) {
            line.append("free, in lock-delay for another ").append(TimeFormat.duration(seen.lockDelayRemaining()));
        } else {
            line.append("offered to a waiter");
        }
        int place = place(seen.waiters());
        if (place > 0) {
            line.append("; position ")
                    .append(place)
                    .append(" of ")
                    .append(seen.waitersTotal())
                    .append(" in the queue");
        }
        return line.toString();
    }

    private String person(HolderInfo holder) {
        String purpose = holder.purpose().isEmpty() ? "" : " (" + holder.purpose() + ")";
        String since = TimeFormat.at(clock.instant().minus(holder.held()), clock.getZone());
        return (holder.owner().isEmpty() ? "a client without a name" : holder.owner()) + purpose + " since " + since
                + ", for "
                + TimeFormat.duration(holder.held()) + ", token " + holder.token()
                + (holder.mode() == Mode.SHARED ? ", " + holder.mode().name().toLowerCase(Locale.ROOT) : "");
    }

    private static int place(List<LockDescription.Waiter> waiters) {
        String we = CallerName.process();
        for (int i = 0; i < waiters.size(); i++) {
            if (waiters.get(i).owner().equals(we)) {
                return i + 1;
            }
        }
        return 0;
    }
}
