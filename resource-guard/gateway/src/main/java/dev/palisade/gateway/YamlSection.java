package dev.palisade.gateway;

import dev.palisade.contract.cli.DurationOption;
import dev.palisade.contract.cli.Suggestion;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import picocli.CommandLine.TypeConversionException;

/**
 * Reader of one mapping of a YAML file. Values are taken as they are written, so that no word becomes a number or a
 * boolean by itself. A mistake is noted with its line, and reading goes on with a default: the caller looks at {@link
 * Mistakes} last.
 */
final class YamlSection {
    private final Mistakes mistakes;
    private final Node node;
    private final Map<String, Node> values = new LinkedHashMap<>();

    /** @param known every key that the mapping may have */
    YamlSection(Mistakes mistakes, Node node, Set<String> known) {
        this.mistakes = mistakes;
        this.node = node;
        if (!(node instanceof MappingNode mapping)) {
            mistakes.add(node, "this is no mapping; write KEY: VALUE, with the keys " + listed(known));
            return;
        }
        for (NodeTuple entry : mapping.getValue()) {
            String key = entry.getKeyNode() instanceof ScalarNode scalar ? scalar.getValue() : "?";
            if (!known.contains(key)) {
                String advice = Suggestion.of(key, known)
                        .map(near -> "; did you mean " + near + "?")
                        .orElse("; keys here are " + listed(known));
                mistakes.add(entry.getKeyNode(), "no key is called '" + key + "'" + advice);
            } else if (values.putIfAbsent(key, entry.getValueNode()) != null) {
                mistakes.add(entry.getKeyNode(), key + " is given twice; give it once");
            }
        }
    }

    private static String listed(Set<String> names) {
        return new TreeSet<>(names).stream().collect(Collectors.joining(", "));
    }

    /** Where a message about {@code key} points: its value, or the mapping that lacks it. */
    Node at(String key) {
        return values.getOrDefault(key, node);
    }

    boolean has(String key) {
        return values.containsKey(key);
    }

    /** The text of {@code key}; {@code otherwise} when it is missing. */
    String text(String key, String otherwise) {
        Node value = values.get(key);
        return value == null ? otherwise : scalar(key, value);
    }

    /** @param example of a value, for the message */
    String required(String key, String example) {
        if (!has(key)) {
            mistakes.add(node, key + " is missing; write " + key + ": " + example);
            return "";
        }
        return text(key, "");
    }

    private String scalar(String key, Node value) {
        if (!(value instanceof ScalarNode scalar) || scalar.getValue().isBlank()) {
            mistakes.add(value, key + " needs one value on its line");
            return "";
        }
        return scalar.getValue().strip();
    }

    /** The texts of {@code key}, a list or one value, with where each stands; empty when it is missing. */
    List<Item> items(String key) {
        Node value = values.get(key);
        if (value == null) {
            return List.of();
        }
        List<? extends Node> nodes = value instanceof SequenceNode sequence ? sequence.getValue() : List.of(value);
        if (nodes.isEmpty()) {
            mistakes.add(value, key + " is an empty list; give at least one value, or leave it out");
        }
        List<Item> items = new ArrayList<>();
        for (Node each : nodes) {
            String text = scalar(key, each);
            if (!text.isEmpty()) {
                items.add(new Item(each, text));
            }
        }
        return items;
    }

    /** One value of a list. */
    record Item(Node where, String text) {}

    /** The mappings of the list {@code key}; empty when it is missing or no list. */
    List<Node> list(String key) {
        Node value = values.get(key);
        if (value == null) {
            return List.of();
        }
        if (!(value instanceof SequenceNode sequence)) {
            mistakes.add(value, key + " is no list; begin each entry with a dash");
            return List.of();
        }
        return List.copyOf(sequence.getValue());
    }

    @Nullable
    Node section(String key) {
        return values.get(key);
    }

    /** The file that {@code key} names, relative to {@code directory}; null when it is missing. */
    @Nullable
    Path path(String key, Path directory) {
        String text = text(key, "");
        if (text.isEmpty()) {
            return null;
        }
        try {
            return directory.resolve(text);
        } catch (InvalidPathException e) {
            mistakes.add(at(key), key + " is no path; name a file");
            return null;
        }
    }

    boolean flag(String key) {
        String text = text(key, "false");
        if (!text.equals("true") && !text.equals("false") && !text.isEmpty()) {
            mistakes.add(at(key), key + " is '" + text + "'; use true or false");
        }
        return text.equals("true");
    }

    Duration time(String key, Duration otherwise, Duration least, Duration most) {
        String text = text(key, DurationOption.text(otherwise));
        if (text.isEmpty()) {
            return otherwise;
        }
        try {
            Duration time = new DurationOption().convert(text);
            if (time.compareTo(least) >= 0 && time.compareTo(most) <= 0) {
                return time;
            }
            mistakes.add(
                    at(key),
                    key + " is " + text + "; use " + DurationOption.text(least) + " to " + DurationOption.text(most));
        } catch (TypeConversionException e) {
            mistakes.add(at(key), key + " " + e.getMessage());
        }
        return otherwise;
    }
}
