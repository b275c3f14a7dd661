package dev.palisade.gateway;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Path of a route: segments that are literal, {@code {name}} for one segment, or last of all {@code {name*}} for one
 * or more. A path matches as a whole or not at all. Immutable.
 */
final class PathTemplate {
    private static final Pattern VARIABLE = Pattern.compile("\\{([a-z][a-z0-9_]*)(\\*?)}");
    private static final Pattern LITERAL = Pattern.compile("[A-Za-z0-9._~!$&'()+,=:@-]*");

    /** @param name empty for literal text */
    private record Segment(String literal, String name, boolean rest) {
        boolean isVariable() {
            return !name.isEmpty();
        }
    }

    private final String text;
    private final List<Segment> segments;

    private PathTemplate(String text, List<Segment> segments) {
        this.text = text;
        this.segments = List.copyOf(segments);
    }

    /** @throws IllegalArgumentException in one line */
    static PathTemplate parse(String text) {
        if (!text.startsWith("/")) {
            throw new IllegalArgumentException("path '" + text + "' does not begin with a slash; write /items/{id}");
        }
        String[] parts = text.substring(1).split("/", -1);
        List<Segment> segments = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (int i = 0; i < parts.length; i++) {
            boolean last = i == parts.length - 1;
            Segment segment = segment(text, parts[i], last);
            if (segment.isVariable() && !names.add(segment.name())) {
                throw new IllegalArgumentException("path '" + text + "' has two {" + segment.name() + "}; rename one");
            }
            segments.add(segment);
        }
        return new PathTemplate(text, segments);
    }

    private static Segment segment(String text, String part, boolean last) {
        Matcher variable = VARIABLE.matcher(part);
        if (variable.matches()) {
            boolean rest = !variable.group(2).isEmpty();
            if (rest && !last) {
                throw new IllegalArgumentException("path '" + text + "': " + part + " must be the last segment");
            }
            return new Segment("", variable.group(1), rest);
        }
        if (part.indexOf('*') >= 0 && part.indexOf('{') < 0) {
            throw new IllegalArgumentException("path '" + text + "': an asterisk stands for nothing; write "
                    + (last ? "/items/{rest*} for all paths below one" : "/items/{id} for one segment"));
        }
        if (!LITERAL.matcher(part).matches() || part.equals(".") || part.equals("..")) {
            throw new IllegalArgumentException("path '" + text + "': segment '" + part
                    + "' is neither plain text nor one {name}, in small letters; write /items/{id}");
        }
        if (part.isEmpty() && !last) {
            throw new IllegalArgumentException("path '" + text + "' has two slashes in a row; write one");
        }
        return new Segment(part, "", false);
    }

    /** The variables' values when {@code path} matches; a segment that a variable takes is not empty. */
    Optional<Map<String, String>> match(List<String> path) {
        Map<String, String> values = new HashMap<>();
        for (int i = 0; i < segments.size(); i++) {
            Segment segment = segments.get(i);
            if (i >= path.size()) {
                return Optional.empty();
            }
            String part = path.get(i);
            if (segment.isVariable() ? part.isEmpty() : !part.equals(segment.literal())) {
                return Optional.empty();
            }
            if (segment.rest()) {
                values.put(segment.name(), String.join("/", path.subList(i, path.size())));
                return Optional.of(values);
            }
            if (segment.isVariable()) {
                values.put(segment.name(), part);
            }
        }
        return path.size() == segments.size() ? Optional.of(values) : Optional.empty();
    }

    /** Whether every path that {@code other} matches is matched by this one too. */
    boolean covers(PathTemplate other) {
        for (int i = 0; i < segments.size(); i++) {
            Segment mine = segments.get(i);
            if (i >= other.segments.size()) {
                return false;
            }
            Segment its = other.segments.get(i);
            if (mine.rest()) {
                return its.isVariable() || !its.literal().isEmpty();
            }
            boolean covered = mine.isVariable()
                    ? !its.rest() && (its.isVariable() || !its.literal().isEmpty())
                    : !its.isVariable() && its.literal().equals(mine.literal());
            if (!covered) {
                return false;
            }
        }
        return segments.size() == other.segments.size();
    }

    /** The paths that both match; empty when there are none. */
    Optional<PathTemplate> overlap(PathTemplate other) {
        List<Segment> both = new ArrayList<>();
        for (int i = 0; i < Math.max(segments.size(), other.segments.size()); i++) {
            if (i >= segments.size() || i >= other.segments.size()) {
                return Optional.empty();
            }
            Segment mine = segments.get(i);
            Segment its = other.segments.get(i);
            if (mine.rest() || its.rest()) {
                List<Segment> rest = mine.rest() ? other.segments : segments;
                both.addAll(rest.subList(i, rest.size()));
                return takesText(both.get(i)) ? Optional.of(new PathTemplate(text, both)) : Optional.empty();
            }
            Segment narrower = mine.isVariable() ? its : mine;
            boolean isLiteral = !mine.isVariable() && !its.isVariable();
            if (isLiteral ? !mine.literal().equals(its.literal()) : !takesText(narrower)) {
                return Optional.empty();
            }
            both.add(narrower);
        }
        return Optional.of(new PathTemplate(text, both));
    }

    private static boolean takesText(Segment segment) {
        return segment.isVariable() || !segment.literal().isEmpty();
    }

    /** What the variable {@code name} takes of the paths of {@code narrower}, each variable there by its position. */
    String taken(String name, PathTemplate narrower) {
        int at = position(name);
        int end = segments.get(at).rest() ? narrower.segments.size() : at + 1;
        StringBuilder taken = new StringBuilder();
        for (int i = at; i < end; i++) {
            Segment segment = narrower.segments.get(i);
            taken.append(i == at ? "" : "/")
                    .append(segment.isVariable() ? "{" + i + (segment.rest() ? "*}" : "}") : segment.literal());
        }
        return taken.toString();
    }

    Set<String> names() {
        return segments.stream().filter(Segment::isVariable).map(Segment::name).collect(Collectors.toSet());
    }

    /** Which segment the variable {@code name} takes, counted from 0; -1 when there is none. */
    private int position(String name) {
        for (int i = 0; i < segments.size(); i++) {
            if (segments.get(i).name().equals(name)) {
                return i;
            }
        }
        return -1;
    }

    @Override
    public String toString() {
        return text;
    }
}
