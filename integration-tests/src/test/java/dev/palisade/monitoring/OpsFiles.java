package dev.palisade.monitoring;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.palisade.micrometer.LibraryMetric;
import dev.palisade.server.metrics.ServerMetric;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The files of {@code ops} that users give to Prometheus and Grafana. */
final class OpsFiles {
    static final Path ROOT = Path.of(System.getProperty("palisade.root"));
    static final Path RULES = ROOT.resolve("ops/prometheus/palisade-rules.yml");
    static final Path RULES_TEST = ROOT.resolve("ops/prometheus/palisade-rules-test.yml");
    static final Path DASHBOARD = ROOT.resolve("ops/grafana/palisade-dashboard.json");

    private static final Pattern METRIC = Pattern.compile("\\b(?:palisade|jvm|process|system)_[a-z0-9_]+");

    private OpsFiles() {}

    /** Every query of the dashboard, with all servers, as Grafana sends it. */
    static List<String> queries() throws IOException {
        List<String> queries = new ArrayList<>();
        gather(JsonParser.parseString(Files.readString(DASHBOARD)), queries);
        return queries.stream()
                .map(query -> query.replace("$__rate_interval", "1m").replace("$instance", ".*"))
                .toList();
    }

    private static void gather(JsonElement element, List<String> queries) {
        if (element instanceof JsonObject object) {
            if (object.has("expr")) {
                queries.add(object.get("expr").getAsString());
            }
            object.entrySet().forEach(entry -> gather(entry.getValue(), queries));
        } else if (element instanceof JsonArray array) {
            array.forEach(each -> gather(each, queries));
        }
    }

    /** The metrics that a text names. */
    static Set<String> named(String text) {
        Set<String> names = new TreeSet<>();
        Matcher metric = METRIC.matcher(text);
        while (metric.find()) {
            names.add(metric.group());
        }
        return names;
    }

    /** The names of all series of a lock server. */
    static Set<String> catalogue() {
        Set<String> names = new TreeSet<>();
        for (ServerMetric metric : ServerMetric.values()) {
            names.addAll(series(metric.exposedName(), metric.exposedType()));
        }
        return names;
    }

    /** Those of {@link #catalogue}, and the names of all series of clients and guards. */
    static Set<String> wholeCatalogue() {
        Set<String> names = catalogue();
        for (LibraryMetric metric : LibraryMetric.values()) {
            names.addAll(series(metric.exposedName(), metric.exposedType()));
        }
        return names;
    }

    private static List<String> series(String name, String type) {
        return type.equals("histogram")
                ? List.of(name + "_bucket", name + "_count", name + "_sum", name + "_max")
                : List.of(name);
    }
}
