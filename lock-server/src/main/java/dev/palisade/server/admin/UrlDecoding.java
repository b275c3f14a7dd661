package dev.palisade.server.admin;

import dev.palisade.contract.RejectedException;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Decoder of percent-encoded paths and queries. Refuses what the JDK's decoder replaces: lock names have to arrive as they are. */
final class UrlDecoding {
    private UrlDecoding() {}

    /** @throws RejectedException MALFORMED_REQUEST */
    static List<String> segments(String path) {
        return Arrays.stream(path.substring(1).split("/", -1))
                .map(UrlDecoding::decoded)
                .toList();
    }

    /**
     * Parameters by name.
     *
     * @param known the names that are allowed, each once
     * @throws RejectedException MALFORMED_REQUEST
     */
    static Map<String, String> parameters(String query, List<String> known) {
        Map<String, String> parameters = new LinkedHashMap<>();
        for (String each : query.isEmpty() ? new String[0] : query.split("&", -1)) {
            String[] parts = each.split("=", 2);
            String name = decoded(parts[0]);
            if (!known.contains(name)) {
                throw RejectedException.malformed(
                        "the query has a parameter that is not one of " + String.join(", ", known));
            }
            String value = parts.length == 2 ? decoded(parts[1].replace('+', ' ')) : "";
            if (parameters.put(name, value) != null) {
                throw RejectedException.malformed("the query has '" + name + "' twice");
            }
        }
        return parameters;
    }

    private static String decoded(String text) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(text.length());
        for (int i = 0; i < text.length(); i++) {
            char each = text.charAt(i);
            if (each == '%') {
                int high = i + 2 < text.length() ? Character.digit(text.charAt(i + 1), 16) : -1;
                int low = i + 2 < text.length() ? Character.digit(text.charAt(i + 2), 16) : -1;
                if (high < 0 || low < 0) {
                    throw malformed();
                }
                bytes.write(high * 16 + low);
                i += 2;
            } else {
                bytes.write(each);
            }
        }
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes.toByteArray()))
                    .toString();
        } catch (CharacterCodingException e) {
            throw malformed();
        }
    }

    private static RejectedException malformed() {
        return RejectedException.malformed("the address is not percent-encoded UTF-8");
    }
}
