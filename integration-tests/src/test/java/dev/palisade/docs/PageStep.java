package dev.palisade.docs;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One step of a page's reader: a shell block, the output that the page shows, a file that it gives, SQL, or code. The comment above
 * a shell block is its class: {@code run}, {@code start} or {@code not run: REASON}, above SQL the first or the last; above another
 * block, {@code file: PATH} or {@code snippet: PATH}.
 *
 * @param kind class of the step
 * @param at page and line
 * @param name path of a file, info string of a block, or the reason for which a block is not run
 * @param text content of the block
 * @param shown lines that the page shows right below the block
 */
record PageStep(Kind kind, String at, String name, String text, List<String> shown) {
    enum Kind {
        /** Runs to its end, with exit code 0, and prints what is shown, if anything is. */
        RUN,
        /** One command that runs until the end of the page. It is up when it has printed what is shown. */
        START,
        /** What the command that was started last prints then. */
        PRINTED,
        NOT_RUN,
        FILE,
        /** Statements for the database of the page's reader. */
        SQL,
        /** Code of the page's reader: the marked part of the example of that name. */
        SNIPPET
    }

    private static final Pattern BLOCK = Pattern.compile(
            "^( *)(?:<!-- ([^\n]+) -->\n\\1)?```([a-z]*)\n(.*?)\n *```$", Pattern.MULTILINE | Pattern.DOTALL);
    private static final Pattern JAVA_CLASS = Pattern.compile("^public class (\\w+)", Pattern.MULTILINE);
    private static final String NOT_RUN = "not run: ";
    private static final String GIVEN = "file: ";
    private static final String EXAMPLE = "snippet: ";

    /**
     * The steps of a page, in order.
     *
     * @throws IllegalArgumentException for a shell block without a class, and for one that is started and shows no output
     */
    static List<PageStep> of(String page, String markdown) {
        List<PageStep> steps = new ArrayList<>();
        Matcher block = BLOCK.matcher(markdown);
        int end = 0;
        while (block.find()) {
            String at =
                    page + ":" + (markdown.substring(0, block.start(4)).lines().count() + 1);
            String marker = block.group(2) == null ? "" : block.group(2);
            String language = block.group(3);
            String text = block.group(4).stripIndent();
            Matcher javaClass = JAVA_CLASS.matcher(text);
            if (language.equals("sh") || language.equals("cron") || language.equals("sql")) {
                steps.add(executable(at, marker, language, text));
            } else if (marker.startsWith(GIVEN)) {
                steps.add(new PageStep(Kind.FILE, at, marker.substring(GIVEN.length()), text, List.of()));
            } else if (marker.equals("printed by the newest start")) {
                steps.add(new PageStep(Kind.PRINTED, at, "", "", lines(text)));
            } else if (language.isEmpty()
                    && markdown.substring(end, block.start()).isBlank()
                    && !steps.isEmpty()) {
                PageStep last = steps.remove(steps.size() - 1);
                steps.add(new PageStep(last.kind, last.at, last.name, last.text, lines(text)));
            } else if (language.equals("xml") && text.startsWith("<project")) {
                steps.add(new PageStep(Kind.FILE, at, "pom.xml", text, List.of()));
            } else if (language.equals("java") && javaClass.find()) {
                String path = "src/main/java/" + javaClass.group(1) + ".java";
                steps.add(new PageStep(Kind.FILE, at, path, text, List.of()));
            } else if (marker.startsWith(EXAMPLE)) {
                steps.add(new PageStep(Kind.SNIPPET, at, marker.substring(EXAMPLE.length()), text, List.of()));
            }
            end = block.end();
        }
        for (PageStep step : steps) {
            if (step.kind == Kind.START && (step.shown.isEmpty() || step.text.contains("\n"))) {
                throw new IllegalArgumentException(
                        step.at + ": a block that is started is one command, and shows its output right below");
            }
        }
        return steps;
    }

    private static PageStep executable(String at, String marker, String language, String text) {
        boolean isShell = !language.equals("sql");
        if (marker.equals("run")) {
            return new PageStep(isShell ? Kind.RUN : Kind.SQL, at, language, text, List.of());
        }
        if (isShell && marker.equals("start")) {
            return new PageStep(Kind.START, at, language, text, List.of());
        }
        if (marker.startsWith(NOT_RUN) && marker.length() > NOT_RUN.length()) {
            return new PageStep(Kind.NOT_RUN, at, marker.substring(NOT_RUN.length()), text, List.of());
        }
        throw new IllegalArgumentException(at + ": this block has no class; write above it <!-- run -->,"
                + " <!-- start --> (a service) or <!-- not run: REASON -->");
    }

    private static List<String> lines(String text) {
        return text.lines().filter(line -> !line.isBlank()).toList();
    }

    /** Whether a reader's machine does something here. */
    boolean isExecuted() {
        return kind == Kind.RUN || kind == Kind.START;
    }

    boolean startsServer() {
        return kind == Kind.START && text.matches("(?:\\S*/)?palisade server(?: .*)?");
    }
}
