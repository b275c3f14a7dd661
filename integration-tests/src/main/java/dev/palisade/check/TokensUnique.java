package dev.palisade.check;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Checker of P1: no two grants of a lock have the same token, and no grant is issued twice or has two tokens. */
public final class TokensUnique {
    private TokensUnique() {}

    public static List<String> violations(List<Granted> grants) {
        List<String> found = new ArrayList<>();
        pairs(grants).forEach(pair -> found.add("P1: " + pair.earlier() + " and " + pair.later() + " have one token"));
        Map<String, Granted> byGrant = new HashMap<>();
        for (Granted granted : grants) {
            Granted sameGrant = byGrant.putIfAbsent(granted.grant(), granted);
            if (sameGrant != null) {
                found.add("P1: grant " + granted.grant() + " was given twice: " + sameGrant + ", " + granted);
            }
        }
        return found;
    }

    /** Each grant whose token another grant of the lock had before it, in the order given. */
    public static List<Pair> pairs(List<Granted> grants) {
        List<Pair> found = new ArrayList<>();
        Map<String, Granted> byToken = new HashMap<>();
        for (Granted granted : grants) {
            Granted same = byToken.putIfAbsent(granted.lock() + " " + granted.token(), granted);
            if (same != null && !same.grant().equals(granted.grant())) {
                found.add(new Pair(same, granted));
            }
        }
        return found;
    }
}
