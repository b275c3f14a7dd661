package dev.palisade.cli.term;

import dev.palisade.contract.cli.TerminalEscape;
import java.util.List;

/**
 * Output encoder for text from the network that is printed on a terminal. Other users choose owners and reasons, so
 * characters that could move the cursor, change colours or reverse the writing direction become escapes.
 */
public final class TerminalText {
    private TerminalText() {}

    /** {@code text} in one line: line breaks become escapes. */
    public static String text(String text) {
        return TerminalEscape.text(text);
    }

    /** {@code json} with JSON escapes instead: parsing returns the same value. */
    public static String json(String json) {
        StringBuilder escaped = new StringBuilder();
        json.codePoints().forEach(character -> {
            if (TerminalEscape.isHarmless(character)) {
                escaped.appendCodePoint(character);
            } else {
                for (char unit : Character.toChars(character)) {
                    escaped.append(String.format("\\u%04x", (int) unit));
                }
            }
        });
        return escaped.toString();
    }

    /** A negative count from a server becomes {@code ?}. */
    public static String count(int number) {
        return number < 0 ? "?" : String.valueOf(number);
    }

    /** A table with aligned columns, two spaces apart, and escaped cells. Rows may differ in length. */
    public static String table(List<List<String>> rows) {
        List<List<String>> escaped = rows.stream()
                .map(row -> row.stream().map(TerminalText::text).toList())
                .toList();
        int columns = escaped.stream().mapToInt(List::size).max().orElse(0);
        int[] widths = new int[columns];
        for (List<String> row : escaped) {
            for (int i = 0; i < row.size(); i++) {
                widths[i] = Math.max(widths[i], length(row.get(i)));
            }
        }
        StringBuilder table = new StringBuilder();
        for (List<String> row : escaped) {
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
