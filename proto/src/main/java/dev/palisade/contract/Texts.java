package dev.palisade.contract;

import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Checks of text that comes from outside, so that every name, key and note is refused in the same words. */
public final class Texts {
    private Texts() {}

    /**
     * Returns {@code value} if it is valid Unicode of {@code bytesMin} to {@code bytesMax} bytes in UTF-8 without control
     * characters.
     *
     * @param what what the text is, for the message
     * @throws RejectedException MALFORMED_REQUEST, saying what is wrong and what to do
     */
    public static String checked(String what, String value, int bytesMin, int bytesMax) {
        int bytes = value.length() > bytesMax ? value.length() : bytesOf(what, value);
        if (bytes > bytesMax) {
            throw RejectedException.malformed(
                    what + " has " + bytes + " bytes, the most is " + bytesMax + "; use a shorter one");
        }
        if (bytes < bytesMin) {
            throw RejectedException.malformed(what + " is empty; use " + bytesMin + " to " + bytesMax + " bytes");
        }
        for (int i = 0; i < value.length(); i++) {
            if (Character.isISOControl(value.charAt(i))) {
                throw RejectedException.malformed(
                        what + " holds a control character at position " + i + "; leave it out");
            }
        }
        return value;
    }

    private static int bytesOf(String what, String value) {
        try {
            return StandardCharsets.UTF_8
                    .newEncoder()
                    .encode(CharBuffer.wrap(value))
                    .remaining();
        } catch (CharacterCodingException e) {
            throw RejectedException.malformed(what + " holds half a surrogate pair; use valid Unicode");
        }
    }
}
