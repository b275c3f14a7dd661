package dev.palisade.check;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Checker of P7: once a grant has read with token t, no write of another grant with a token up to t is applied. */
public final class ReadsFence {
    private ReadsFence() {}

    /** The two highest reads that belong to different grants: enough to check a write of any grant. */
    private record Highest(AppliedCall first, AppliedCall second) {
        Highest with(AppliedCall read) {
            if (read.grant().equals(first.grant())) {
                return new Highest(read, second);
            }
            if (read.token() >= first.token()) {
                return new Highest(read, first);
            }
            return read.token() >= second.token() ? new Highest(first, read) : this;
        }

        AppliedCall ofOtherThan(String grant) {
            return first.grant().equals(grant) ? second : first;
        }
    }

    public static List<String> violations(List<AppliedCall> applied) {
        List<String> found = new ArrayList<>();
        Map<String, Highest> reads = new HashMap<>();
        AppliedCall none = new AppliedCall(0, "", "", false, false, -1, "", "");
        for (AppliedCall call : applied) {
            Highest highest = reads.getOrDefault(call.resource(), new Highest(none, none));
            if (!call.write()) {
                reads.put(call.resource(), highest.with(call));
            } else if (call.token() <= highest.ofOtherThan(call.grant()).token()) {
                found.add("P7: " + call + " was applied after " + highest.ofOtherThan(call.grant()));
            }
        }
        return found;
    }
}
