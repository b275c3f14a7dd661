package dev.palisade.check;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checker of P9: a repeated request is granted once. Every reply has the same grant and token, and no grant begins
 * twice, unless the store lost data in between.
 */
public final class OneGrantPerRequest {
    private OneGrantPerRequest() {}

    /** @param replies that granted a request, including repeated ones, in the order of their times */
    public static List<String> violations(List<GrantReply> replies, List<LockEntry> entries, List<DataLost> losses) {
        List<String> found = new ArrayList<>();
        Map<String, GrantReply> last = new HashMap<>();
        for (GrantReply one : replies) {
            GrantReply before = last.put(one.request(), one);
            if (before != null
                    && (before.token() != one.token() || !before.grant().equals(one.grant()))
                    && losses.stream().noneMatch(loss -> loss.between(before.askedNanos(), one.answeredNanos()))) {
                found.add("P9: " + one.client() + "'s request " + one.request() + " of " + one.lock()
                        + " was granted with token " + before.token() + " and with token " + one.token());
            }
        }
        Map<String, LockEntry> begun = new HashMap<>();
        for (LockEntry entry : entries) {
            if (!entry.what().equals("GRANTED") && !entry.what().equals("ACCEPTED")) {
                continue;
            }
            LockEntry before = begun.put(entry.grant(), entry);
            // A lease that was seen after a loss survived it.
            if (before != null
                    && losses.stream().noneMatch(loss -> loss.between(before.seenNanos(), entry.seenNanos()))) {
                found.add("P9: a lease of grant " + entry.grant() + " began twice, the second time as " + entry);
            }
        }
        return found;
    }
}
