package dev.palisade.server.rpc;

import dev.palisade.contract.LockName;
import dev.palisade.contract.RejectedException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** Where a listing goes on: after which lock name, or which session's fingerprint. Whole in itself; the server keeps nothing for it. */
final class PageToken {
    private static final byte LOCKS = 1;
    private static final byte SESSIONS = 2;
    private static final int FINGERPRINT_CHARS = 64;
    private static final int CHARS_MAX = 2 * LockName.BYTES_MAX;

    private PageToken() {}

    static String after(String name) {
        return made(LOCKS, name);
    }

    static String afterSession(String fingerprint) {
        return made(SESSIONS, fingerprint);
    }

    private static String made(byte kind, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return Base64.getUrlEncoder()
                .withoutPadding()
                .encodeToString(ByteBuffer.allocate(1 + bytes.length)
                        .put(kind)
                        .put(bytes)
                        .array());
    }

    /**
     * The name to go on after; empty for the first page.
     *
     * @throws RejectedException MALFORMED_REQUEST unless the token was made for a listing of {@code prefix}
     */
    static String name(String token, String prefix) {
        String name = text(LOCKS, token, "a listing of '" + prefix + "'");
        if (!name.isEmpty() && !isName(name, prefix)) {
            throw refused("a listing of '" + prefix + "'");
        }
        return name;
    }

    /**
     * The fingerprint of the session to go on after; empty for the first page.
     *
     * @throws RejectedException MALFORMED_REQUEST unless the token was made for a listing of sessions
     */
    static String fingerprint(String token) {
        String fingerprint = text(SESSIONS, token, "a listing of sessions");
        if (!fingerprint.isEmpty() && fingerprint.length() != FINGERPRINT_CHARS) {
            throw refused("a listing of sessions");
        }
        return fingerprint;
    }

    private static boolean isName(String text, String prefix) {
        try {
            return new LockName(text).value().startsWith(prefix);
        } catch (RejectedException e) {
            return false;
        }
    }

    private static String text(byte kind, String token, String listing) {
        if (token.isEmpty()) {
            return "";
        }
        try {
            if (token.length() <= CHARS_MAX) {
                ByteBuffer bytes = ByteBuffer.wrap(Base64.getUrlDecoder().decode(token));
                if (bytes.remaining() > 1) {
                    bytes.get();
                    String text =
                            StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
                    // Neither one of another kind, nor another of Base64's spellings.
                    if (made(kind, text).equals(token)) {
                        return text;
                    }
                }
            }
        } catch (IllegalArgumentException | CharacterCodingException e) {
            throw refused(listing);
        }
        throw refused(listing);
    }

    private static RejectedException refused(String listing) {
        return RejectedException.malformed("page token is not one of " + listing
                + "; send next_page_token as it came, or none for the first page");
    }
}
