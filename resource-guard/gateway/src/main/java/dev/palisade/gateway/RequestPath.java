package dev.palisade.gateway;

import dev.palisade.contract.RejectedException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * Target of one request as it was sent, and its path cut into decoded segments. Every form that another server may
 * read as another path is refused: routed here by one reading and applied there by another, it would pass under a
 * wrong lock.
 *
 * @param raw path and query as they were sent; this form is forwarded
 * @param segments of the path, decoded once; the last one is empty when the path ends with a slash
 * @param query as it was sent, without its question mark; may be empty
 */
record RequestPath(String raw, List<String> segments, String query) {
    RequestPath {
        segments = List.copyOf(segments);
    }

    /** @throws RejectedException MALFORMED_REQUEST, saying which form it is and how to write it */
    static RequestPath of(String raw) {
        for (int i = 0; i < raw.length(); i++) {
            if (raw.charAt(i) <= ' ' || raw.charAt(i) >= 0x7f) {
                throw refused("has a character at position " + i + " that must be percent-encoded");
            }
        }
        int mark = raw.indexOf('?');
        String path = mark < 0 ? raw : raw.substring(0, mark);
        if (!path.startsWith("/")) {
            throw refused("does not begin with a slash");
        }
        String[] parts = path.substring(1).split("/", -1);
        List<String> segments = new ArrayList<>();
        for (int i = 0; i < parts.length; i++) {
            if (parts[i].isEmpty() && i < parts.length - 1) {
                throw refused("has two slashes in a row; send one");
            }
            segments.add(segment(parts[i]));
        }
        return new RequestPath(raw, segments, mark < 0 ? "" : raw.substring(mark + 1));
    }

    private static String segment(String part) {
        if (part.indexOf(';') >= 0 || part.indexOf('\\') >= 0 || part.indexOf('#') >= 0) {
            throw refused("has a semicolon, a backslash or a hash sign; percent-encode it if it belongs to a name");
        }
        String decoded = decoded(part);
        if (decoded.equals(".") || decoded.equals("..")) {
            throw refused("has a segment of dots; send the path that it leads to");
        }
        for (int i = 0; i < decoded.length(); i++) {
            char each = decoded.charAt(i);
            if (each == '%' && isHex(decoded, i + 1) && isHex(decoded, i + 2)) {
                throw refused("is percent-encoded twice; encode it once");
            }
            if (each == '/' || each == '\\' || Character.isISOControl(each)) {
                throw refused("has an encoded slash, backslash or control character; use a name without one");
            }
        }
        return decoded;
    }

    private static boolean isHex(String text, int at) {
        return at < text.length() && hex(text.charAt(at)) >= 0;
    }

    /** @throws RejectedException MALFORMED_REQUEST when it is no percent-encoded UTF-8 */
    static String decoded(String text) {
        if (text.indexOf('%') < 0) {
            return text;
        }
        byte[] bytes = new byte[text.length()];
        int length = 0;
        for (int i = 0; i < text.length(); i++) {
            char each = text.charAt(i);
            if (each == '%') {
                int high = i + 2 < text.length() ? hex(text.charAt(i + 1)) : -1;
                int low = i + 2 < text.length() ? hex(text.charAt(i + 2)) : -1;
                if (high < 0 || low < 0) {
                    throw refused("has a percent sign without two hexadecimal digits");
                }
                each = (char) (high << 4 | low);
                i += 2;
            }
            bytes[length++] = (byte) each;
        }
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes, 0, length))
                    .toString();
        } catch (CharacterCodingException e) {
            throw refused("is no percent-encoded UTF-8");
        }
    }

    /** Character.digit takes digits of other scripts, too; those cannot get here. */
    private static int hex(char digit) {
        return Character.digit(digit, 16);
    }

    private static RejectedException refused(String why) {
        return RejectedException.malformed("the request's path or query " + why);
    }

    /**
     * The one value of a query parameter, decoded.
     *
     * @throws RejectedException MALFORMED_REQUEST when there is none, or more than one that a service may take for it
     */
    String parameter(String name) {
        if (query.indexOf(';') >= 0) {
            throw refused("has a semicolon; percent-encode it, or separate parameters by &");
        }
        String found = null;
        boolean exact = false;
        for (String pair : query.split("&", -1)) {
            int equals = pair.indexOf('=');
            String key = form(equals < 0 ? pair : pair.substring(0, equals));
            if (!mayBeRead(key, name)) {
                continue;
            }
            if (found != null) {
                throw RejectedException.malformed(
                        "query parameter '" + name + "' names the lock and is there more than once; send it once");
            }
            found = equals < 0 ? "" : form(pair.substring(equals + 1));
            exact = key.equals(name);
        }
        if (found == null || found.isEmpty() || !exact) {
            throw RejectedException.malformed(
                    "query parameter '" + name + "' names the lock and is missing or empty; send it, in this spelling");
        }
        return found;
    }

    /** Whether some service knows the parameter {@code key} by that name. */
    private static boolean mayBeRead(String key, String name) {
        String whole = key.split("\0", 2)[0].stripLeading();
        String wanted = asServicesRead(name);
        return Stream.of(whole, whole.split("\\[", 2)[0])
                .flatMap(part -> Stream.of(part, part.strip()))
                .anyMatch(part -> asServicesRead(part).equals(wanted));
    }

    /**
     * PHP takes {@code part[]}, {@code part[x]} and {@code +part} for {@code part}, {@code the[part} for
     * {@code the_part}, and reads dots, spaces and underscores alike; others do one of these.
     */
    private static String asServicesRead(String name) {
        return name.replaceAll("[^A-Za-z0-9_-]", "_").toLowerCase(Locale.ROOT);
    }

    private static String form(String text) {
        return decoded(text.replace('+', ' '));
    }
}
