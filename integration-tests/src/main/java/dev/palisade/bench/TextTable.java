package dev.palisade.bench;

import java.util.List;

/** Cells as lines of text: the first columns to the left, the others to the right. */
final class TextTable {
    private TextTable() {}

    /**
     * One for each row.
     *
     * @param left how many columns go to the left
     * @param rows all of one length, at least one
     */
    static List<String> lines(int left, List<List<String>> rows) {
        int[] widths = new int[rows.get(0).size()];
        rows.forEach(row -> {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        });
        return rows.stream().map(row -> line(left, row, widths)).toList();
    }

    private static String line(int left, List<String> row, int[] widths) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < widths.length; i++) {
            String padding = " ".repeat(widths[i] - row.get(i).length());
            line.append(i == 0 ? "" : "  ").append(i < left ? row.get(i) + padding : padding + row.get(i));
        }
        return line.toString().stripTrailing();
    }
}
