package dev.palisade.server.admin;

import dev.palisade.contract.RejectedException;
import java.net.URLDecoder;
import java.nio.CharBuffer;
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
        try {
            // A character for each byte first: the decoder of this charset replaces nothing.
            String bytes = URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.ISO_8859_1);
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(StandardCharsets.ISO_8859_1.newEncoder().encode(CharBuffer.wrap(bytes)))
                    .toString();
        } catch (IllegalArgumentException | CharacterCodingException e) {
            throw malformed();
        }
    }

    private static RejectedException malformed() {
        return RejectedException.malformed("the address is not percent-encoded UTF-8");
    }
}
