package dev.palisade.steps;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.steps.Cell.Placed;
import dev.palisade.steps.Step.Phase;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Rounds of faults at the same gateways, and the judgement over all of them. */
final class Walk implements AutoCloseable {
    /** On a busy machine something else is withheld now and then, or a call does not stand for long enough. */
    private static final int TRIES = 8;

    private final Lab lab;
    private final Site site;
    private final List<Cell> hit = new ArrayList<>();
    private int missed;

    /** @param commands one for each gateway */
    Walk(Lab lab, boolean takesOver, List<List<String>> commands) {
        this.lab = lab;
        this.site = new Site(lab, takesOver, commands);
    }

    /** @return false: a call has fewer round trips to the register than each of these steps wants */
    boolean at(Fault fault, List<Step> steps) {
        List<Step> left = steps;
        boolean exists = steps.stream().noneMatch(step -> step.phase() == Phase.REGISTER);
        for (int i = 0; i < TRIES && !left.isEmpty(); i++) {
            // Together they take too long on a slow machine.
            List<List<Step>> rounds =
                    i < 2 ? List.of(left) : left.stream().map(List::of).toList();
            List<Step> missedNow = new ArrayList<>();
            for (List<Step> round : rounds) {
                for (Cell cell : new Round(lab, site, fault).run(round)) {
                    exists |= cell.step.phase() == Phase.REGISTER && cell.placed != Placed.NO_SUCH_STEP;
                    switch (cell.placed) {
                        case HIT -> hit.add(cell);
                        case MISSED -> missedNow.add(cell.step);
                        case NO_SUCH_STEP -> {
                            // Nothing was at fault with it.
                        }
                    }
                }
                site.noteMarks();
            }
            missed += missedNow.size();
            left = missedNow;
        }
        assertThat(left).as("steps at which " + fault + " could not be placed").isEmpty();
        return exists;
    }

    /** What the checkers say about everything so far. */
    List<String> violations() {
        return site.violations();
    }

    /** For people: how many steps each fault has hit, and which round trips. */
    private void report() {
        Map<Fault, Long> counts =
                hit.stream().collect(Collectors.groupingBy(cell -> cell.fault, TreeMap::new, Collectors.counting()));
        Set<String> trips = new TreeSet<>();
        hit.stream().filter(cell -> cell.step.isAtRegister()).forEach(cell -> trips.add(cell.what()));
        System.out.println("steps: " + site.gateways.size() + " gateways" + (site.takesOver() ? " that take over" : "")
                + ": " + counts + ", "
                + hit.stream().filter(cell -> cell.keptOut).count()
                + " newer holders kept out meanwhile; missed and repeated " + missed + "; " + trips.size()
                + " kinds of round trips: " + trips);
    }

    /** @return what was hit, all of it as it has to be */
    List<Cell> finish() {
        report();
        assertThat(hit.stream().flatMap(cell -> cell.complaints.stream())).isEmpty();
        assertThat(violations()).isEmpty();
        return hit;
    }

    @Override
    public void close() {
        site.close();
    }
}
