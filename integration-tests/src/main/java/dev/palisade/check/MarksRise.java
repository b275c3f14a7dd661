package dev.palisade.check;

import dev.palisade.check.Marks.Mark;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Checker of P12: between snapshots no mark decreases, changes its grant at one token, or disappears. */
public final class MarksRise {
    private MarksRise() {}

    /** @param snapshots in the order in which they were taken */
    public static List<String> violations(List<Marks> snapshots) {
        List<String> found = new ArrayList<>();
        for (int i = 1; i < snapshots.size(); i++) {
            Marks before = snapshots.get(i - 1);
            Marks after = snapshots.get(i);
            for (Map.Entry<String, Mark> entry : before.byResource().entrySet()) {
                String where =
                        "P12: from '" + before.when() + "' to '" + after.when() + "' the mark of " + entry.getKey();
                Mark was = entry.getValue();
                Mark is = after.byResource().get(entry.getKey());
                if (is == null) {
                    found.add(where + " vanished");
                } else if (is.exclusiveToken() < was.exclusiveToken() || is.sharedToken() < was.sharedToken()) {
                    found.add(where + " went back: " + was + " became " + is);
                } else if (is.exclusiveToken() == was.exclusiveToken()
                        && !is.exclusiveGrant().equals(was.exclusiveGrant())) {
                    found.add(where + " changed its grant: " + was + " became " + is);
                }
            }
        }
        return found;
    }

    /** The marks cover what was applied: none is below a call that the same storage has in its log. */
    public static List<String> violations(Marks last, List<AppliedCall> applied) {
        List<String> found = new ArrayList<>();
        for (AppliedCall call : applied) {
            Mark mark = last.byResource().get(call.resource());
            if (mark == null || call.token() > (call.shared() ? mark.sharedToken() : mark.exclusiveToken())) {
                found.add("P12: " + call + " was applied, and '" + last.when() + "' has the mark " + mark);
            }
        }
        return found;
    }
}
