package dev.palisade.contract.cli;

/**
 * Escape of text that others wrote, for a terminal: what could move the cursor, change colours or turn the writing direction
 * round is shown as its number. All of our commands use this rule, for what a user typed, what a file holds and what comes
 * from the network.
 */
public final class TerminalEscape {
    private TerminalEscape() {}

    /** {@code text} as one line without a character that a terminal would obey: its number is shown, in hexadecimal digits. */
    public static String text(String text) {
        StringBuilder escaped = new StringBuilder(text.length());
        text.codePoints().forEach(character -> {
            if (isHarmless(character)) {
                escaped.appendCodePoint(character);
            } else {
                escaped.append(String.format("\\u{%x}", character));
            }
        });
        return escaped.toString();
    }

    /** Whether a terminal shows the code point and does nothing else. */
    public static boolean isHarmless(int character) {
        return switch (Character.getType(character)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.SURROGATE,
                    Character.PRIVATE_USE,
                    Character.UNASSIGNED -> false;
            default -> true;
        };
    }
}
