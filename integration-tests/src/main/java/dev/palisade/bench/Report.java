package dev.palisade.bench;

import com.google.gson.FieldNamingPolicy;
import com.google.gson.GsonBuilder;
import dev.palisade.bench.Rounds.Measured;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What was measured so far: tables for a person as they come, and all of it in a file, which is whole after each. */
final class Report {
    private final PrintStream out;
    private final @Nullable Path json;
    private final Map<String, String> about;
    private final List<Comparison> comparisons = new ArrayList<>();
    private final List<String> leftOut = new ArrayList<>();

    /**
     * @param json where all of it goes, or null
     * @param about on what it was measured
     */
    Report(PrintStream out, @Nullable Path json, Map<String, String> about) {
        this.out = out;
        this.json = json;
        this.about = new TreeMap<>(about);
    }

    /** Something more about what it was measured on. */
    void about(String what, String is) {
        about.put(what, is);
    }

    /** What is not measured, and why. */
    void leaveOut(String what) {
        leftOut.add(what);
        out.println("left out: " + what);
    }

    void add(Comparison comparison) throws IOException {
        comparisons.add(comparison);
        out.println();
        out.println(comparison.title());
        TextTable.lines(1, rows(comparison)).forEach(line -> out.println("  " + line));
        comparison.series().forEach((name, series) -> {
            if (series.failed() != null) {
                out.println("  " + name + " failed: " + series.failed());
            }
        });
        write(List.of());
    }

    void addAll(List<Comparison> several) throws IOException {
        for (Comparison each : several) {
            add(each);
        }
    }

    /** Holds what was measured against what was meant. */
    void end() throws IOException {
        List<Goals.Judged> goals = Goals.judge(comparisons);
        if (!goals.isEmpty()) {
            out.println();
            out.println("goals");
            List<List<String>> rows = new ArrayList<>(List.of(List.of("", "", "goal", "here", "")));
            goals.forEach(goal -> rows.add(List.of(
                    goal.what(),
                    goal.contestant(),
                    goal.goal(),
                    goal.figure() == null ? "not measured" : Goals.text(goal.figure()) + goal.unit(),
                    goal.met() == null ? "" : goal.met() ? "met" : "missed")));
            TextTable.lines(2, rows).forEach(line -> out.println("  " + line));
        }
        about.forEach((what, is) -> out.println(what + ": " + is));
        write(goals);
    }

    private static List<List<String>> rows(Comparison comparison) {
        Map<String, Function<Measured, Double>> columns = columns(comparison);
        boolean compared = comparison.part().hasRates()
                && comparison.perSecond(comparison.base()).isPresent();
        List<String> head = new ArrayList<>(List.of(""));
        head.addAll(columns.keySet());
        if (compared) {
            head.add(2, "× " + comparison.base());
        }
        List<List<String>> rows = new ArrayList<>(List.of(head));
        comparison.series().keySet().forEach(name -> {
            List<String> row = new ArrayList<>(List.of(name));
            columns.values().forEach(column -> row.add(cell(comparison, name, column)));
            if (compared) {
                row.add(
                        2,
                        Comparison.times(comparison.perSecond(name), comparison.perSecond(comparison.base()))
                                .map(Goals::text)
                                .orElse("-"));
            }
            rows.add(row);
        });
        return rows;
    }

    /** What a round has of each column; NaN where it has nothing. */
    private static Map<String, Function<Measured, Double>> columns(Comparison comparison) {
        Map<String, Function<Measured, Double>> columns = new LinkedHashMap<>();
        boolean rates = comparison.part().hasRates();
        if (rates) {
            columns.put("per second", Measured::perSecond);
        }
        comparison.series().values().stream()
                .flatMap(series -> series.rounds().stream())
                .forEach(round -> {
                    if (rates) {
                        round.cpuNanos()
                                .keySet()
                                .forEach(process -> columns.put(
                                        "CPU µs " + process,
                                        each -> each.cpuNanos().containsKey(process)
                                                ? each.cpuMicrosEach(process)
                                                : Double.NaN));
                    }
                });
        comparison.series().values().stream()
                .flatMap(series -> series.rounds().stream())
                .forEach(round -> round.figures()
                        .keySet()
                        .forEach(figure ->
                                columns.put(figure, each -> each.figures().getOrDefault(figure, Double.NaN))));
        return columns;
    }

    private static String cell(Comparison comparison, String contestant, Function<Measured, Double> figure) {
        double median = comparison.median(contestant, figure::apply).orElse(Double.NaN);
        return Double.isNaN(median) ? "-" : Goals.text(median);
    }

    private void write(List<Goals.Judged> goals) throws IOException {
        if (json == null) {
            return;
        }
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("about", about);
        all.put("comparisons", comparisons.stream().map(Report::forJson).toList());
        all.put("goals", goals);
        all.put("left_out", leftOut);
        Files.writeString(
                json,
                new GsonBuilder()
                        .setPrettyPrinting()
                        .disableHtmlEscaping()
                        .setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES)
                        .create()
                        .toJson(all));
    }

    private static Map<String, Object> forJson(Comparison comparison) {
        Map<String, Object> object = new LinkedHashMap<>();
        object.put("part", comparison.part().toString());
        object.put("title", comparison.title());
        object.put("contestants", comparison.series());
        return object;
    }
}
