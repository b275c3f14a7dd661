package dev.palisade.server.rpc;

import dev.palisade.contract.LockName;
import dev.palisade.contract.RejectedException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** Where a listing of locks goes on: after which name. Whole in itself; the server keeps nothing for it. */
final class PageToken {
    private static final byte VERSION = 1;
    private static final int CHARS_MAX = 2 * LockName.BYTES_MAX;

    private PageToken() {}

    static String after(String name) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        return Base64.getUrlEncoder()
                .withoutPadding()
                .encodeToString(ByteBuffer.allocate(1 + bytes.length)
                        .put(VERSION)
                        .put(bytes)
                        .array());
    }

    /**
     * The name to go on after; empty for the first page.
     *
     * @throws RejectedException MALFORMED_REQUEST unless the token was made for a listing of {@code prefix}
     */
    static String name(String token, String prefix) {
        if (token.isEmpty()) {
            return "";
        }
        try {
            if (token.length() <= CHARS_MAX) {
                ByteBuffer bytes = ByteBuffer.wrap(Base64.getUrlDecoder().decode(token));
                if (bytes.hasRemaining() && bytes.get() == VERSION) {
                    String text =
                            StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
                    String name = new LockName(text).value();
                    // Base64 has several spellings of some bytes; only ours is taken.
                    if (name.startsWith(prefix) && after(name).equals(token)) {
                        return name;
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
