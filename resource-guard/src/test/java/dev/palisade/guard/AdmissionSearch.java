package dev.palisade.guard;

import dev.palisade.guard.AdmissionModel.Maker;
import dev.palisade.guard.AdmissionModel.Spec;
import java.util.List;
import java.util.Optional;

/** Search of every order of steps in an {@link AdmissionModel}. */
final class AdmissionSearch {
    private final Maker maker;
    private final boolean mayCrash;
    private final boolean mayBeUnknown;
    private final StepSearch search = new StepSearch();

    AdmissionSearch(Maker maker, boolean mayCrash, boolean mayBeUnknown) {
        this.maker = maker;
        this.mayCrash = mayCrash;
        this.mayBeUnknown = mayBeUnknown;
    }

    /** States seen so far. */
    long states() {
        return search.states();
    }

    /** The shortest path to a violation, if there is one. */
    Optional<String> violation(List<Spec> specs) {
        return search.violation(() -> new AdmissionModel(maker, specs, mayCrash, mayBeUnknown))
                .map(found -> specs + " " + found);
    }
}
