package dev.palisade.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * The specs hold with all rules on, in as many states as they say, with every kind of step; and each rule that is turned off
 * breaks the invariant that the configuration names.
 */
class SpecsTest {
    /** TLC's exit code for an invariant found broken. */
    private static final int BROKEN = 12;

    /** Invariants that no one claims: that they break shows that something useful can happen, or what is not promised. */
    private static final Set<String> NOT_WANTED = Set.of("NoReadersTogether", "NoEqualsTogether", "ReadsHoldAtOnce");

    private static final List<Spec> SPECS = Spec.all();

    @TempDir
    private Path directory;

    @TestFactory
    @Execution(ExecutionMode.CONCURRENT)
    Stream<DynamicTest> everyConfigurationEndsAsItSays() {
        return SPECS.stream()
                .map(spec -> DynamicTest.dynamicTest(spec.name(), () -> {
                    if (spec.breaks().isEmpty()) {
                        holds(spec);
                    } else {
                        breaks(spec);
                    }
                }));
    }

    private void holds(Spec spec) throws IOException, InterruptedException {
        assertThat(spec.off()).as("rules turned off").isEmpty();
        Spec.Verdict verdict = spec.check(directory);
        assertThat(verdict.exitCode()).as(verdict.output()).isZero();
        assertThat(verdict.output()).contains("Model checking completed. No error has been found.");
        assertThat(verdict.all("(\\d+) distinct states found, 0 states left on queue"))
                .as("distinct states")
                .singleElement()
                .satisfies(states -> assertThat(Integer.parseInt(states)).isGreaterThanOrEqualTo(spec.statesMin()));
        assertThat(Set.copyOf(verdict.all("^<(\\w+) line [^>]*>: 0:0$")))
                .as("steps that were never possible")
                .isEqualTo(spec.without());
        assertThat(verdict.all("^<(\\w+) line [^>]*>: \\d+:\\d+$"))
                .as("steps that were counted")
                .hasSizeGreaterThan(5);
    }

    private void breaks(Spec spec) throws IOException, InterruptedException {
        Spec.Verdict verdict = spec.check(directory);
        assertThat(verdict.all("^Error: (.*) is violated"))
                .as(verdict.output())
                .containsExactly("Invariant " + spec.breaks());
        assertThat(verdict.exitCode()).isEqualTo(BROKEN);
    }

    @Test
    void everyRuleIsTurnedOffSomewhere() {
        Map<String, Set<String>> rules = new TreeMap<>();
        SPECS.forEach(spec -> rules.put(spec.module(), spec.rules()));
        assertThat(gathered(SPECS.stream().filter(spec -> !spec.breaks().isEmpty()), Spec::off))
                .isEqualTo(rules);
    }

    @Test
    void everyStepIsPossibleSomewhere() {
        Map<String, Set<String>> never = new TreeMap<>();
        for (Spec spec : SPECS) {
            if (spec.breaks().isEmpty()) {
                never.computeIfAbsent(spec.module(), module -> new TreeSet<>(spec.without()))
                        .retainAll(spec.without());
            }
        }
        assertThat(never.values()).allSatisfy(steps -> assertThat(steps).isEmpty());
    }

    @Test
    void whatHoldsIsWhatBreaksWithoutTheRules() {
        Map<String, Set<String>> broken = gathered(
                SPECS.stream().filter(spec -> !NOT_WANTED.contains(spec.breaks())), spec -> Set.of(spec.breaks()));
        broken.values().forEach(invariants -> invariants.remove(""));
        for (Spec spec : SPECS) {
            if (spec.breaks().isEmpty()) {
                assertThat(spec.invariants()).as(spec.name()).isEqualTo(broken.get(spec.module()));
            }
        }
    }

    private static Map<String, Set<String>> gathered(Stream<Spec> specs, Function<Spec, Set<String>> names) {
        return specs.collect(Collectors.groupingBy(
                Spec::module,
                TreeMap::new,
                Collectors.flatMapping(spec -> names.apply(spec).stream(), Collectors.toCollection(TreeSet::new))));
    }

    @Test
    void theModelsPageNamesEveryConfigurationAndItsEnd() throws IOException {
        String page = Files.readString(Spec.ROOT.resolve("docs/reference/models.md"));
        Set<String> rows = Pattern.compile("^\\| ([A-Z]\\w+(?:-\\w+)?) \\|.*\\| ([\\w,]+) \\|$", Pattern.MULTILINE)
                .matcher(page)
                .results()
                .map(row -> row.group(1) + " " + row.group(2).replace(",", ""))
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(rows)
                .isEqualTo(SPECS.stream()
                        .map(spec -> spec.name() + " "
                                + (spec.breaks().isEmpty() ? String.valueOf(spec.statesMin()) : spec.breaks()))
                        .collect(Collectors.toCollection(TreeSet::new)));
    }
}
