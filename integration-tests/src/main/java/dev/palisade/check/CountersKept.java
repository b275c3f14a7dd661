package dev.palisade.check;

import dev.palisade.check.Increment.Fate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checker of P15: acknowledged &le; final &le; acknowledged + unknown. A refused increment appears neither in the
 * counter nor in the log. An acknowledged increment is in the log once, an unknown one at most once, and the log has no
 * other increments.
 */
public final class CountersKept {
    private CountersKept() {}

    public static List<String> violations(
            List<Increment> increments, List<AppliedCall> applied, List<Counter> counters) {
        List<String> found = new ArrayList<>();
        Map<String, Integer> timesApplied = new HashMap<>();
        for (AppliedCall call : applied) {
            if (call.write()) {
                timesApplied.merge(call.contentHash(), 1, Integer::sum);
            }
        }
        Map<String, Increment> byHash = new HashMap<>();
        for (Increment increment : increments) {
            byHash.put(increment.contentHash(), increment);
            int times = timesApplied.getOrDefault(increment.contentHash(), 0);
            int most = increment.fate() == Fate.REFUSED ? 0 : 1;
            int least = increment.fate() == Fate.ACKNOWLEDGED ? 1 : 0;
            if (times < least || times > most) {
                found.add("P15: increment " + increment.op() + " is " + increment.fate() + " and was applied " + times
                        + " times");
            }
        }
        for (AppliedCall call : applied) {
            if (call.write() && !byHash.containsKey(call.contentHash())) {
                found.add("P15: " + call + " is an increment that nobody sent");
            }
        }
        counters.forEach(counter -> check(counter, increments, byHash, found));
        return found;
    }

    private static void check(
            Counter counter, List<Increment> increments, Map<String, Increment> byHash, List<String> found) {
        long acknowledged = count(increments, counter.key(), Fate.ACKNOWLEDGED);
        long unknown = count(increments, counter.key(), Fate.UNKNOWN);
        if (counter.value() < acknowledged || counter.value() > acknowledged + unknown) {
            found.add("P15: " + counter.key() + " counted " + counter.value() + ", with " + acknowledged
                    + " acknowledged and " + unknown + " unknown increments");
        }
        Increment last = byHash.get(counter.contentHash());
        if (last != null && last.fate() == Fate.REFUSED) {
            found.add("P15: " + counter.key() + " ends as the refused increment " + last.op() + " left it");
        }
    }

    private static long count(List<Increment> increments, String key, Fate fate) {
        return increments.stream()
                .filter(increment -> increment.key().equals(key) && increment.fate() == fate)
                .count();
    }
}
