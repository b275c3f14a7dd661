package dev.palisade.server.metrics;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One exposition, taken apart: values by series, types by name. */
public final class Scraped {
    private static final Pattern SAMPLE = Pattern.compile("^([a-zA-Z_:]+)(\\{.*\\})? (\\S+)$", Pattern.MULTILINE);
    private static final Pattern TYPE = Pattern.compile("^# TYPE (\\S+) (\\S+)$", Pattern.MULTILINE);
    private static final Pattern LABEL = Pattern.compile("([a-z_]+)=\"([^\"]*)\"");

    private final String text;
    private final Map<String, Double> values = new TreeMap<>();

    public Scraped(String text) {
        this.text = text;
        Matcher sample = SAMPLE.matcher(text);
        while (sample.find()) {
            values.put(sample.group(1) + (sample.group(2) == null ? "" : sample.group(2)), number(sample.group(3)));
        }
    }

    private static double number(String value) {
        return value.equals("+Inf") ? Double.POSITIVE_INFINITY : Double.parseDouble(value);
    }

    /** Of a series as it is written, such as {@code name{label="value"}}. */
    public double value(String series) {
        Double value = values.get(series);
        if (value == null) {
            throw new AssertionError("there is no " + series + " in " + values.keySet());
        }
        return value;
    }

    /** Types by name, of the names that begin with {@code prefix}. */
    public Map<String, String> types(String prefix) {
        Map<String, String> types = new TreeMap<>();
        Matcher type = TYPE.matcher(text);
        while (type.find()) {
            if (type.group(1).startsWith(prefix)) {
                types.put(type.group(1), type.group(2));
            }
        }
        return types;
    }

    /** Values of each label of one metric; {@code le} is the histograms' own. */
    public Map<String, Set<String>> labels(String name) {
        Map<String, Set<String>> labels = new TreeMap<>();
        Pattern ofMetric = Pattern.compile(name + "(_bucket|_count|_sum|_max)?(\\{.*)?");
        values.keySet().stream().filter(ofMetric.asMatchPredicate()).forEach(series -> {
            Matcher label = LABEL.matcher(series);
            while (label.find()) {
                if (!label.group(1).equals("le")) {
                    labels.computeIfAbsent(label.group(1), key -> new TreeSet<>())
                            .add(label.group(2));
                }
            }
        });
        return labels;
    }
}
