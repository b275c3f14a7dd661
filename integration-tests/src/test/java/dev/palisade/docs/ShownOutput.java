package dev.palisade.docs;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A line of output as a page shows it. The printed one may have other numbers of four digits or more, times, widths of columns and
 * names of user and host; {@code ...} is any text.
 */
final class ShownOutput {
    private static final Pattern VARIES = Pattern.compile(
            "(?<any>\\.\\.\\.)|(?<who>you@laptop)|(?<home>/home/you)"
                    + "|(?<at>\\d{4}-\\d\\d-\\d\\dT[\\d:]+Z)|(?<length>\\d+(?:\\.\\d+)? s\\b)|(?<number>\\d{4,})|(?<space>\\s+)");

    private ShownOutput() {}

    /** Whether {@code printed} is what {@code shown} stands for. */
    static boolean isLike(String shown, String printed, String home) {
        StringBuilder pattern = new StringBuilder();
        Matcher varying = VARIES.matcher(shown.strip());
        int end = 0;
        while (varying.find()) {
            pattern.append(Pattern.quote(shown.strip().substring(end, varying.start())));
            pattern.append(anyLike(varying, home));
            end = varying.end();
        }
        pattern.append(Pattern.quote(shown.strip().substring(end)));
        return printed.strip().matches(pattern.toString());
    }

    private static String anyLike(Matcher varying, String home) {
        if (varying.group("any") != null) {
            return ".*";
        }
        if (varying.group("who") != null) {
            return "\\S+@\\S+";
        }
        if (varying.group("home") != null) {
            return Pattern.quote(home);
        }
        if (varying.group("at") != null) {
            return "\\d{4}-\\d\\d-\\d\\dT[\\d:]+Z";
        }
        if (varying.group("length") != null) {
            return "[\\d.]+ (?:s|min)";
        }
        return varying.group("number") != null ? "\\d+" : "\\s+";
    }

    /** Whether these are the same lines, in order; blank ones do not count. */
    static boolean areLike(List<String> shown, List<String> printed, String home) {
        List<String> lines = printed.stream().filter(line -> !line.isBlank()).toList();
        if (lines.size() != shown.size()) {
            return false;
        }
        for (int i = 0; i < lines.size(); i++) {
            if (!isLike(shown.get(i), lines.get(i), home)) {
                return false;
            }
        }
        return true;
    }
}
