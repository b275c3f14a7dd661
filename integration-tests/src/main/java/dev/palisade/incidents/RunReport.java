package dev.palisade.incidents;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Report at the end of a run: result tables, failures, and exit code. */
final class RunReport {
    private RunReport() {}

    /** Prints tables and failures, and returns the exit code. */
    static int print(State state, StoreUnderTest<?> store) {
        Map<String, IncidentStatistics> inOrder = new LinkedHashMap<>();
        state.against().forEach(name -> inOrder.put(name, state.of(name)));
        return print(inOrder, store);
    }

    /** @param inOrder by the issuer's name */
    static int print(Map<String, IncidentStatistics> inOrder, StoreUnderTest<?> store) {
        Table.byKind(inOrder, store).forEach(System.out::println);
        System.out.println();
        Table.byIssuer(inOrder).forEach(System.out::println);
        List<String> failures = new ArrayList<>();
        inOrder.forEach((name, found) -> addFailures(store, name, found, failures));
        failures.forEach(line -> System.out.println("FAILED: " + line));
        return failures.isEmpty() ? 0 : 1;
    }

    private static void addFailures(
            StoreUnderTest<?> store, String name, IncidentStatistics found, List<String> failures) {
        boolean ours = store.issuer(name).map(IssuerUnderTest::ours).orElse(false);
        long violations = found.all().violations();
        if (ours && violations > 0) {
            failures.add(name + " has " + violations + " violations");
        }
        if (ours && found.all().grants() == 0) {
            failures.add(name + " issued no token, which proves nothing");
        }
    }
}
