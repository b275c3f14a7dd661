package dev.palisade.incidents;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** IncidentStatistics as tables of text. */
final class Table {
    private static final List<String> HEAD = List.of(
            "issuer",
            "incidents",
            "grants",
            "unknown",
            "duplicates",
            "regressions",
            "interleaved",
            "above newer",
            "born stale",
            "left over");

    private Table() {}

    /** A line for each issuer. */
    static List<String> byIssuer(Map<String, IncidentStatistics> figures) {
        List<List<String>> rows = new ArrayList<>(List.of(HEAD));
        figures.forEach((issuer, found) -> {
            Counts all = found.all();
            rows.add(List.of(
                    issuer,
                    text(found.done()),
                    text(all.grants()),
                    text(all.unknown()),
                    text(all.duplicates()),
                    text(all.regressions()),
                    text(all.interleaved()),
                    text(all.aboveNewer()),
                    text(all.bornStale()),
                    text(all.leftOver())));
        });
        return lines(rows);
    }

    /**
     * A line for each kind of incident: how many grants were at fault, with each issuer; a dash where it did not
     * happen.
     */
    static List<String> byKind(Map<String, IncidentStatistics> figures, StoreUnderTest<?> store) {
        List<String> head = new ArrayList<>(List.of("grants at fault"));
        head.addAll(figures.keySet());
        List<List<String>> rows = new ArrayList<>(List.of(head));
        Set<String> injected = new HashSet<>();
        figures.values().forEach(found -> injected.addAll(found.byKind().keySet()));
        for (Incident<?> kind : store.incidents()) {
            if (!injected.contains(kind.name())) {
                continue;
            }
            List<String> row = new ArrayList<>(List.of(kind.toString()));
            for (IncidentStatistics found : figures.values()) {
                Counts counts = found.byKind().get(kind.name());
                row.add(counts == null ? "-" : text(counts.violations() + counts.leftOver()));
            }
            rows.add(row);
        }
        return lines(rows);
    }

    private static String text(long number) {
        return String.format("%,d", number);
    }

    private static List<String> lines(List<List<String>> rows) {
        int[] widths = new int[rows.get(0).size()];
        rows.forEach(row -> {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        });
        return rows.stream().map(row -> line(row, widths)).toList();
    }

    private static String line(List<String> row, int[] widths) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < widths.length; i++) {
            String padding = " ".repeat(widths[i] - row.get(i).length());
            line.append(i == 0 ? "" : "  ").append(i == 0 ? row.get(i) + padding : padding + row.get(i));
        }
        return line.toString().stripTrailing();
    }
}
