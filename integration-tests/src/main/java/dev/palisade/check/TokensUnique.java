package dev.palisade.check;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** P1: no token is given to two grants of a lock, and no grant is given twice or has two tokens. */
public final class TokensUnique {
    private TokensUnique() {}

    public static List<String> violations(List<Granted> grants) {
        List<String> found = new ArrayList<>();
        Map<String, Granted> byToken = new HashMap<>();
        Map<String, Granted> byGrant = new HashMap<>();
        for (Granted granted : grants) {
            Granted sameToken = byToken.putIfAbsent(granted.lock() + " " + granted.token(), granted);
            Granted sameGrant = byGrant.putIfAbsent(granted.grant(), granted);
            if (sameToken != null && !sameToken.grant().equals(granted.grant())) {
                found.add("P1: " + sameToken + " and " + granted + " have one token");
            }
            if (sameGrant != null) {
                found.add("P1: grant " + granted.grant() + " was given twice: " + sameGrant + ", " + granted);
            }
        }
        return found;
    }
}
