package dev.palisade.server.access;

import java.util.List;

/** All mistakes of one file, in the order of its lines. */
public final class FileMistakes extends Exception {
    private static final long serialVersionUID = 1L;

    /** Beyond it, the rest is counted. */
    private static final int SHOWN_MAX = 20;

    private final String source;
    private final List<String> lines;

    /**
     * @param source file or URL
     * @param lines each {@code FILE:LINE: what, and what to do}, or one about the whole file; at least one
     */
    public FileMistakes(Object source, List<String> lines) {
        super(lines.get(0));
        this.source = source.toString();
        this.lines = List.copyOf(lines);
    }

    FileMistakes(Object source, String line) {
        this(source, List.of(line));
    }

    /** One line for each mistake, of the first 20, and one that counts the others. */
    public List<String> lines() {
        if (lines.size() <= SHOWN_MAX) {
            return lines;
        }
        return java.util.stream.Stream.concat(
                        lines.stream().limit(SHOWN_MAX),
                        java.util.stream.Stream.of(source + ": " + (lines.size() - SHOWN_MAX) + " more mistakes"))
                .toList();
    }
}
