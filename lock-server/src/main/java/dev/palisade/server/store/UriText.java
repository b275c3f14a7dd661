package dev.palisade.server.store;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;

/** Parts of the text of a store's URI. */
public final class UriText {
    private UriText() {}

    /** What is before the first {@code mark}; all of it if there is none. */
    public static String before(String text, char mark) {
        int at = text.indexOf(mark);
        return at < 0 ? text : text.substring(0, at);
    }

    /** What is after the first {@code mark}; empty if there is none. */
    public static String after(String text, char mark) {
        int at = text.indexOf(mark);
        return at < 0 ? "" : text.substring(at + 1);
    }

    /** @throws IllegalArgumentException unless each {@code %} begins a percent-encoded byte; it does not tell the text */
    public static String decoded(String text) {
        try {
            return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "has a '%' that begins no percent-encoded byte; write it as %25"); // Its cause would tell the text.
        }
    }
}
