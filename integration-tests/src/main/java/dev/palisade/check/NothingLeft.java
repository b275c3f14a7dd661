package dev.palisade.check;

import java.util.ArrayList;
import java.util.List;

/**
 * Checker of P14: after the end of all clients and the bound, no lock is held, offered, waited for or in lock-delay.
 */
public final class NothingLeft {
    private NothingLeft() {}

    /**
     * Reply of the lock server's list command.
     *
     * @param afterNanos since the last client ended
     * @param locks in use, with holders and waiters
     */
    public record Listed(long afterNanos, List<String> locks) {
        public Listed {
            locks = List.copyOf(locks);
        }
    }

    /** @param listed in the order of the calls; the last one decides */
    public static List<String> violations(List<Listed> listed, long boundNanos) {
        List<String> found = new ArrayList<>();
        if (listed.isEmpty()) {
            found.add("P14: the lock server was never asked what is left");
            return found;
        }
        Listed last = listed.get(listed.size() - 1);
        for (String lock : last.locks()) {
            found.add(
                    "P14: " + last.afterNanos() / 1_000_000 + " ms after the last client ended there is still " + lock);
        }
        for (Listed one : listed) {
            if (one.locks().isEmpty() && one.afterNanos() > boundNanos) {
                found.add("P14: the locks were free only " + one.afterNanos() / 1_000_000
                        + " ms after the last client ended; the bound is " + boundNanos / 1_000_000 + " ms");
                break;
            }
        }
        return found;
    }
}
