package dev.palisade.check;

import java.util.ArrayList;
import java.util.List;

/** P14: when every client has ended or died and the bound has passed, no lock is held, offered, waited for or closed. */
public final class NothingLeft {
    private NothingLeft() {}

    /**
     * What the lock server listed.
     *
     * @param afterNanos since the last client ended
     * @param locks in use, with who has or wants them
     */
    public record Listed(long afterNanos, List<String> locks) {
        public Listed {
            locks = List.copyOf(locks);
        }
    }

    /** @param listed in the order of asking; the last one counts */
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
