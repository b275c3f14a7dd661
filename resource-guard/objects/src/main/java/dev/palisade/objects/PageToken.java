package dev.palisade.objects;

import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Texts;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** Opaque position of a LIST: the last key of the previous page. A malformed one is refused. */
final class PageToken {
    private static final byte VERSION = 1;

    /** No token of ours is longer, in characters. */
    private static final int CHARS_MAX = 700;

    private PageToken() {}

    static String after(String key) {
        byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
        return Base64.getUrlEncoder()
                .withoutPadding()
                .encodeToString(ByteBuffer.allocate(1 + bytes.length)
                        .put(VERSION)
                        .put(bytes)
                        .array());
    }

    /**
     * The key to go on after; empty for the first page.
     *
     * @throws RejectedException MALFORMED_REQUEST unless the token was made for a listing of {@code prefix}
     */
    static String key(String token, String prefix) {
        if (token.isEmpty()) {
            return "";
        }
        try {
            if (token.length() <= CHARS_MAX) {
                ByteBuffer bytes = ByteBuffer.wrap(Base64.getUrlDecoder().decode(token));
                if (bytes.hasRemaining() && bytes.get() == VERSION) {
                    String key =
                            StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
                    Texts.checked("page token's key", key, 1, ObjectStore.KEY_BYTES_MAX);
                    // Base64 has several spellings of some bytes; only ours is taken.
                    if (key.startsWith(prefix) && after(key).equals(token)) {
                        return key;
                    }
                }
            }
        } catch (IllegalArgumentException | CharacterCodingException | RejectedException e) {
            throw refused(prefix);
        }
        throw refused(prefix);
    }

    private static RejectedException refused(String prefix) {
        return RejectedException.malformed("page token is not one of a listing of '" + prefix
                + "'; send next_page_token as it came, or none for the first page");
    }
}
