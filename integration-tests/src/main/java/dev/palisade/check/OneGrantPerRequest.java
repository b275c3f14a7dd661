package dev.palisade.check;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** P9: however often a request is asked, it is granted once: each answer names the same grant and token, and no grant begins twice. */
public final class OneGrantPerRequest {
    private OneGrantPerRequest() {}

    /** @param answered every answer that named a grant, repeated ones too */
    public static List<String> violations(List<Answered> answered, List<LockEntry> entries) {
        List<String> found = new ArrayList<>();
        Map<String, Answered> first = new HashMap<>();
        for (Answered one : answered) {
            Answered before = first.putIfAbsent(one.request(), one);
            if (before != null
                    && (before.token() != one.token() || !before.grant().equals(one.grant()))) {
                found.add("P9: " + one.client() + "'s request " + one.request() + " of " + one.lock()
                        + " was granted with token " + before.token() + " and with token " + one.token());
            }
        }
        Set<String> begun = new HashSet<>();
        for (LockEntry entry : entries) {
            if ((entry.what().equals("GRANTED") || entry.what().equals("ACCEPTED")) && !begun.add(entry.grant())) {
                found.add("P9: a lease of grant " + entry.grant() + " began twice, the second time as " + entry);
            }
        }
        return found;
    }
}
