package dev.palisade.steps;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.scenario.TimingSensitive;
import dev.palisade.steps.Step.Phase;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Gateways that share a register, each fault at each step of a call. By default the steps have the faults in turn, with one
 * and three gateways; {@code -Dpalisade.steps=all} walks each step with each fault and each number of gateways.
 */
@TimingSensitive("A fault has to be placed within seconds, which other tests would slow down")
class StepsIT {
    private static final boolean ALL = System.getProperty("palisade.steps", "").equals("all");

    /** More than a guard does for itself in the second in which it renews, observes the others, and watches its calls' marks. */
    private static final int OF_GUARD = 15;

    private static final List<Phase> ELSEWHERE =
            List.of(Phase.RECEIVED, Phase.HALF, Phase.WHOLE, Phase.APPLIED, Phase.LEFT, Phase.SENT);
    private static Lab lab;

    @BeforeAll
    static void start() {
        lab = new Lab();
    }

    @AfterAll
    static void stop() {
        lab.close();
    }

    @Test
    void faultAtAnyStepLetsNoLateWriteThrough() {
        List<Cell> cells = Collections.synchronizedList(new ArrayList<>());
        if (ALL) {
            inParallel(
                    Stream.of(1, 2, 3)
                            .<Runnable>map(total -> () -> walkAll(total, cells))
                            .toList(),
                    2);
        } else {
            AtomicInteger number = new AtomicInteger();
            inParallel(
                    List.of(() -> takeOver(cells), () -> walkSome(1, number, cells), () -> walkSome(3, number, cells)),
                    2); // With three, a busy machine places some calls too late, eight times in a row.
        }
        assertThat(cells.stream().map(cell -> cell.fault)).contains(Fault.values());
        assertThat(cells.stream().map(cell -> cell.step.phase())).contains(Phase.values());
        String trips = String.join("\n", cells.stream().map(Cell::what).toList());
        assertThat(trips).as("round trips at which a fault was placed").contains("REGISTER REQUEST", "REGISTER REPLY");
        if (ALL) {
            assertThat(trips)
                    .contains("REQUEST COMMIT", "REPLY COMMIT", "INSERT INTO palisade_register_calls", "leaves")
                    .contains("UPDATE palisade_marks", "DELETE FROM palisade_register_calls")
                    .contains("UPDATE palisade_register_guards", "SELECT g.id", "SELECT m.resource");
        }
    }

    /** Each step with each fault. */
    private static void walkAll(int total, List<Cell> cells) {
        try (Walk walk = new Walk(lab, false, Mutant.none(total))) {
            for (Fault fault : List.of(Fault.KILL, Fault.STOP, Fault.CUT, Fault.LATE)) {
                walk.at(fault, ELSEWHERE.stream().map(Step::at).toList());
                for (int i = 1; i <= OF_GUARD; i++) {
                    walk.at(fault, List.of(new Step(Phase.GUARD, i, Side.REQUEST)));
                    walk.at(fault, List.of(new Step(Phase.GUARD, i, Side.REPLY)));
                }
                walkTheRegister(walk, fault);
            }
            cells.addAll(walk.finish());
        }
        try (Walk walk = new Walk(lab, true, Mutant.none(total))) {
            walk.at(Fault.KILL, ELSEWHERE.stream().map(Step::at).toList());
            walkTheRegister(walk, Fault.KILL);
            if (total > 1) {
                walk.at(Fault.TAKEN_OVER, ELSEWHERE.stream().map(Step::at).toList());
                walkTheRegister(walk, Fault.TAKEN_OVER);
            }
            cells.addAll(walk.finish());
        }
    }

    private static void walkTheRegister(Walk walk, Fault fault) {
        int number = 1;
        while (walk.at(fault, bothSides(number))) {
            number++;
        }
    }

    private static List<Step> bothSides(int number) {
        return List.of(new Step(Phase.REGISTER, number, Side.REQUEST), new Step(Phase.REGISTER, number, Side.REPLY));
    }

    /** The next steps in turn, each with the next fault. */
    private static void walkSome(int total, AtomicInteger next, List<Cell> cells) {
        Fault[] faults = {Fault.KILL, Fault.STOP, Fault.CUT, Fault.LATE};
        try (Walk walk = new Walk(lab, false, Mutant.none(total))) {
            for (int round = 0; ; round++) {
                int number = next.incrementAndGet();
                Fault fault = faults[(total - 1 + round) % faults.length];
                List<Step> steps = new ArrayList<>(bothSides(number));
                if (round == 0 || (round < faults.length && (total == 1) == (fault == Fault.LATE))) {
                    ELSEWHERE.forEach(phase -> steps.add(Step.at(phase)));
                }
                if (fault != Fault.STOP) { // What keeps others out makes a stop long.
                    steps.add(new Step(Phase.GUARD, number, number % 2 == 0 ? Side.REQUEST : Side.REPLY));
                }
                if (!walk.at(fault, steps)) {
                    break;
                }
            }
            cells.addAll(walk.finish());
        }
    }

    private static void takeOver(List<Cell> cells) {
        try (Walk walk = new Walk(lab, true, Mutant.none(2))) {
            List<Step> steps = new ArrayList<>(bothSides(9));
            ELSEWHERE.forEach(phase -> steps.add(Step.at(phase)));
            walk.at(Fault.LATE, List.of(Step.at(Phase.LEFT))); // The first call of a process is slow.
            walk.at(Fault.TAKEN_OVER, steps);
            cells.addAll(walk.finish());
        }
    }

    /** By default the one whose call is already at the service when it is found to be stale. */
    static Stream<Mutant> plantedBugs() {
        return ALL ? Stream.of(Mutant.values()) : Stream.of(Mutant.SENT_BEFORE_SECOND_COMPARE);
    }

    @ParameterizedTest
    @MethodSource("plantedBugs")
    void plantedBugIsFoundByWhatWasApplied(Mutant bug) {
        List<List<String>> commands = new ArrayList<>(Mutant.none(2));
        boolean isOfTheFaulted = bug == Mutant.CACHED_MARK || bug == Mutant.TWO_STEPS;
        commands.set(isOfTheFaulted ? 0 : 1, bug.command(lab.installation));
        try (Walk walk = new Walk(lab, false, commands)) {
            switch (bug) {
                case ENTRY_ENDS_BY_TIME -> walk.at(Fault.STOP, List.of(Step.at(Phase.WHOLE)));
                case CACHED_MARK -> walk.at(Fault.LATE, List.of(Step.at(Phase.LEFT)));
                case SENT_BEFORE_SECOND_COMPARE -> walk.at(Fault.LATE, List.of(Step.at(Phase.WHOLE)));
                case TWO_STEPS -> {
                    for (int number = 8; number < 13 && walk.violations().isEmpty(); number++) {
                        walk.at(Fault.LATE, List.of(new Step(Phase.REGISTER, number, Side.REQUEST)));
                    }
                }
            }
            assertThat(walk.violations())
                    .anySatisfy(violation -> assertThat(violation).matches("P[67]:.*"));
        }
    }

    private static void inParallel(List<Runnable> lanes, int threads) {
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        List<CompletableFuture<Void>> all = lanes.stream()
                .map(lane -> CompletableFuture.runAsync(lane, executor))
                .toList();
        all.forEach(CompletableFuture::join);
        executor.shutdown();
    }
}
