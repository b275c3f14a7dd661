package dev.palisade.incidents;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What is told at the end, and whether that is as it must be. */
final class Verdict {
    private Verdict() {}

    /** Prints the tables and what is wrong, and returns the exit code. */
    static int tell(State state, StoreUnderTest<?> store) {
        Map<String, Figures> inOrder = new LinkedHashMap<>();
        state.against().forEach(name -> inOrder.put(name, state.of(name)));
        return tell(inOrder, store);
    }

    /** @param inOrder by the issuer's name */
    static int tell(Map<String, Figures> inOrder, StoreUnderTest<?> store) {
        Table.byKind(inOrder, store).forEach(System.out::println);
        System.out.println();
        Table.byIssuer(inOrder).forEach(System.out::println);
        List<String> wrong = new ArrayList<>();
        inOrder.forEach((name, found) -> wrong(store, name, found, wrong));
        wrong.forEach(line -> System.out.println("FAILED: " + line));
        return wrong.isEmpty() ? 0 : 1;
    }

    private static void wrong(StoreUnderTest<?> store, String name, Figures found, List<String> wrong) {
        boolean ours = store.subject(name).map(Subject::ours).orElse(false);
        long violations = found.all().violations();
        if (ours && violations > 0) {
            wrong.add(name + " has " + violations + " violations");
        }
        if (ours && found.all().grants() == 0) {
            wrong.add(name + " issued no token, which proves nothing");
        }
    }
}
