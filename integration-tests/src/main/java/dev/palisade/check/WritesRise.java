package dev.palisade.check;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checker of P6: per resource the tokens of applied writes never fall, equal tokens have one grant, and SHARED grants
 * write nothing.
 */
public final class WritesRise {
    private WritesRise() {}

    public static List<String> violations(List<AppliedCall> applied) {
        List<String> found = new ArrayList<>();
        Map<String, AppliedCall> highest = new HashMap<>();
        for (AppliedCall call : applied) {
            if (!call.write()) {
                continue;
            }
            if (call.shared()) {
                found.add("P6: " + call + " was made by a SHARED grant");
            }
            AppliedCall before = highest.get(call.resource());
            if (before != null && call.token() < before.token()) {
                found.add("P6: " + call + " was applied after " + before);
            } else if (before != null
                    && call.token() == before.token()
                    && !call.grant().equals(before.grant())) {
                found.add("P6: " + call + " has the token of " + before + " and another grant");
            } else {
                highest.put(call.resource(), call);
            }
        }
        return found;
    }
}
