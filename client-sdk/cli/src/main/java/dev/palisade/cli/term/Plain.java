package dev.palisade.cli.term;

import dev.palisade.contract.cli.TerminalEscape;
import java.util.List;

/**
 * Text from the network on a terminal. Owners and reasons are written by strangers: what could move the cursor, change colours or
 * turn the writing direction round is shown as an escape.
 */
public final class Plain {
    private Plain() {}

    /** One line, whatever {@code text} holds. */
    public static String text(String text) {
        return TerminalEscape.text(text);
    }

    /** The same in JSON's own escapes: a parser of {@code json} sees no difference. */
    public static String json(String json) {
        StringBuilder plain = new StringBuilder();
        json.codePoints().forEach(character -> {
            if (TerminalEscape.isHarmless(character)) {
                plain.appendCodePoint(character);
            } else {
                for (char unit : Character.toChars(character)) {
                    plain.append(String.format("\\u%04x", (int) unit));
                }
            }
        });
        return plain.toString();
    }

    /** Columns under each other, two spaces apart; every cell is made plain. Rows may differ in length. */
    public static String table(List<List<String>> rows) {
        List<List<String>> plain =
                rows.stream().map(row -> row.stream().map(Plain::text).toList()).toList();
        int columns = plain.stream().mapToInt(List::size).max().orElse(0);
        int[] widths = new int[columns];
        for (List<String> row : plain) {
            for (int i = 0; i < row.size(); i++) {
                widths[i] = Math.max(widths[i], length(row.get(i)));
            }
        }
        StringBuilder table = new StringBuilder();
        for (List<String> row : plain) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < row.size(); i++) {
                line.append(row.get(i));
                if (i < row.size() - 1) {
                    line.append(" ".repeat(widths[i] - length(row.get(i)) + 2));
                }
            }
            table.append(line.toString().stripTrailing()).append('\n');
        }
        return table.toString();
    }

    private static int length(String cell) {
        return cell.codePointCount(0, cell.length());
    }
}
