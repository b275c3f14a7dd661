package dev.palisade.check;

import dev.palisade.check.Marks.Mark;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Checker of P13: every mark and every applied call has a grant that a client received. */
public final class OnlyAuthentic {
    private OnlyAuthentic() {}

    public static List<String> violations(List<Granted> grants, List<AppliedCall> applied, List<Marks> snapshots) {
        Set<String> real = new HashSet<>();
        Set<String> realShared = new HashSet<>();
        for (Granted granted : grants) {
            real.add(name(granted.lock(), granted.token(), granted.grant()));
            if (granted.shared()) {
                realShared.add(name(granted.lock(), granted.token(), ""));
            }
        }
        List<String> found = new ArrayList<>();
        for (AppliedCall call : applied) {
            if (!real.contains(name(call.resource(), call.token(), call.grant()))) {
                found.add("P13: " + call + " names a grant that nobody was given");
            }
        }
        for (Marks marks : snapshots) {
            marks.byResource().forEach((resource, mark) -> {
                if (isForeign(resource, mark, real, realShared)) {
                    found.add("P13: '" + marks.when() + "' has for " + resource + " the mark " + mark
                            + ", and nobody was given such a grant");
                }
            });
        }
        return found;
    }

    private static boolean isForeign(String resource, Mark mark, Set<String> real, Set<String> realShared) {
        boolean exclusive = mark.exclusiveToken() == 0
                || real.contains(name(resource, mark.exclusiveToken(), mark.exclusiveGrant()));
        boolean shared = mark.sharedToken() == 0 || realShared.contains(name(resource, mark.sharedToken(), ""));
        return !(exclusive && shared);
    }

    private static String name(String lock, long token, String grant) {
        return lock + " " + token + " " + grant;
    }
}
