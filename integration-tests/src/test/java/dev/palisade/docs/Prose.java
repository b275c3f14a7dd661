package dev.palisade.docs;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * The sentences, headings and lines of a Markdown page. Code is left out: a code span counts as one word, a code block as
 * none. The target of a link is no prose either.
 */
final class Prose {
    static final int COLUMNS_MAX = 120;

    private static final Pattern SENTENCE_END = Pattern.compile("(?<=[.!?])[\"')]*\\s+");
    /** A cell may be a list. */
    private static final Pattern ITEM_END = Pattern.compile("(?<=[.!?;])[\"')]*\\s+");

    private static final Pattern LIST_ITEM = Pattern.compile("^(?:[-*]|\\d+\\.) +");
    private static final Pattern HEADING = Pattern.compile("^#{1,6} +");

    /** One sentence, with the line of the page on which its paragraph, cell or heading begins. */
    record Sentence(int line, String text, boolean inTable) {
        int words() {
            return (int) Pattern.compile("\\s+")
                    .splitAsStream(text)
                    .filter(word -> word.chars().anyMatch(Character::isLetterOrDigit))
                    .count();
        }

        @Override
        public String toString() {
            return "line " + line + ": " + text;
        }
    }

    private final List<Sentence> sentences = new ArrayList<>();
    private final List<String> longLines = new ArrayList<>();
    private final Set<String> anchors = new TreeSet<>();
    private final StringBuilder paragraph = new StringBuilder();
    private int paragraphLine;

    private Prose(String page) {
        boolean code = false;
        int number = 0;
        for (String line : page.split("\n", -1)) {
            number++;
            String text = line.strip().replaceFirst("^> ?", "").strip();
            if (!text.startsWith("|") && line.codePointCount(0, line.length()) > COLUMNS_MAX) {
                longLines.add("line " + number + ": " + line);
            }
            if (text.startsWith("```")) {
                flush();
                code = !code;
            } else if (!code) {
                add(number, text);
            }
        }
        flush();
    }

    static Prose of(String page) {
        return new Prose(page);
    }

    List<Sentence> sentences() {
        return sentences;
    }

    /** Lines outside tables that are longer than {@value #COLUMNS_MAX} columns. */
    List<String> longLines() {
        return longLines;
    }

    /** What may stand behind the {@code #} of a link to this page. */
    Set<String> anchors() {
        return anchors;
    }

    private void add(int number, String text) {
        if (text.startsWith("|")) {
            flush();
            for (String cell : text.split("(?<!\\\\)\\|", -1)) {
                take(number, cell, true);
            }
        } else if (HEADING.matcher(text).find()) {
            flush();
            String heading = HEADING.matcher(text).replaceFirst("");
            take(number, heading, true);
            anchor(heading);
        } else if (text.isEmpty() || text.startsWith("<!--")) {
            flush();
        } else {
            if (LIST_ITEM.matcher(text).find()) {
                flush();
            }
            if (paragraph.length() == 0) {
                paragraphLine = number;
            }
            paragraph.append(LIST_ITEM.matcher(text).replaceFirst("")).append(' ');
        }
    }

    private void flush() {
        take(paragraphLine, paragraph.toString(), false);
        paragraph.setLength(0);
    }

    private void take(int line, String markdown, boolean inTable) {
        String plain = markdown.replaceAll("`[^`]*`", "CODE")
                .replaceAll("!?\\[([^\\]]*)\\]\\([^)]*\\)", "$1")
                .replaceAll("<[^>]*>", "")
                .replaceAll("\\*+", "")
                .strip();
        (inTable ? ITEM_END : SENTENCE_END)
                .splitAsStream(plain)
                .filter(text -> !text.isBlank())
                .forEach(text -> sentences.add(new Sentence(line, text, inTable)));
    }

    /** As GitHub makes them. */
    private void anchor(String heading) {
        String plain = heading.replaceAll("\\[([^\\]]*)\\]\\([^)]*\\)", "$1").toLowerCase(Locale.ROOT);
        String slug = plain.replaceAll("[^\\p{L}\\p{N}\\- _]", "").replace(' ', '-');
        String anchor = slug;
        for (int i = 1; !anchors.add(anchor); i++) {
            anchor = slug + "-" + i;
        }
    }
}
