package dev.palisade.server.core.explain;

/**
 * Quotation of text that a client, a guard or an operator wrote. Nothing in it can end the quotation, begin a line or turn the
 * direction of the writing around, so it cannot pass for words of the lock server.
 */
final class Quoted {
    private Quoted() {}

    /** The text between single quotation marks. */
    static String text(String text) {
        StringBuilder quoted = new StringBuilder("'");
        text.codePoints().forEach(c -> {
            if (c == '\'' || c == '\\') {
                quoted.append('\\').append((char) c);
            } else if (isInvisible(c)) {
                quoted.append(String.format("\\u%04x", c));
            } else {
                quoted.appendCodePoint(c);
            }
        });
        return quoted.append('\'').toString();
    }

    private static boolean isInvisible(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.SURROGATE,
                    Character.UNASSIGNED -> true;
            default -> false;
        };
    }
}
