package dev.palisade.objects;

import dev.palisade.contract.LockName;
import dev.palisade.contract.RejectedException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which lock guards which object: the operator's rule, never the caller's. Text with the placeholders {@code {key}} (the
 * whole key) and {@code {key:N}} (its first N parts between slashes; a key with fewer parts counts whole).
 */
final class LockTemplate {
    /** The most parts {@code {key:N}} takes. */
    static final int PARTS_MAX = 16;

    private static final int WHOLE = 0;
    private static final Pattern PLACEHOLDER = Pattern.compile("\\{key(?::(\\d{1,4}))?}");

    private final String text;
    private final List<Piece> pieces;

    /** Literal text, or a placeholder that takes {@code parts} parts of the key ({@link #WHOLE}: all). */
    private record Piece(String literal, boolean placeholder, int parts) {}

    private LockTemplate(String text, List<Piece> pieces) {
        this.text = text;
        this.pieces = List.copyOf(pieces);
    }

    /** @throws IllegalArgumentException in one line, when {@code text} is not a template */
    static LockTemplate parse(String text) {
        List<Piece> pieces = new ArrayList<>();
        Matcher matcher = PLACEHOLDER.matcher(text);
        int from = 0;
        while (matcher.find()) {
            pieces.add(literal(text, text.substring(from, matcher.start())));
            String parts = matcher.group(1);
            pieces.add(new Piece("", true, parts == null ? WHOLE : parts(text, parts)));
            from = matcher.end();
        }
        pieces.add(literal(text, text.substring(from)));
        LockTemplate template = new LockTemplate(text, pieces);
        try {
            template.lockOf("k");
        } catch (RejectedException e) {
            throw new IllegalArgumentException(
                    "lock template '" + text + "': " + e.rejection().message());
        }
        return template;
    }

    private static Piece literal(String text, String literal) {
        if (literal.contains("{") || literal.contains("}")) {
            throw new IllegalArgumentException(
                    "lock template '" + text
                            + "' holds a brace that is no placeholder; placeholders are {key} and {key:N}, as in objects/{key:1}");
        }
        return new Piece(literal, false, 0);
    }

    private static int parts(String text, String digits) {
        int parts = Integer.parseInt(digits);
        if (parts < 1 || parts > PARTS_MAX) {
            throw new IllegalArgumentException(
                    "lock template '" + text + "' takes " + parts + " parts of the key; use 1 to " + PARTS_MAX);
        }
        return parts;
    }

    /** @throws RejectedException MALFORMED_REQUEST when the lock's name would not be one */
    LockName lockOf(String key) {
        String name = filled(key);
        int bytes = name.getBytes(StandardCharsets.UTF_8).length;
        if (bytes > LockName.BYTES_MAX) {
            throw RejectedException.malformed(
                    "the lock of this object, by the lock template '" + text + "', has a name of " + bytes
                            + " bytes, the most is " + LockName.BYTES_MAX + "; use a shorter key");
        }
        return new LockName(name);
    }

    private String filled(String key) {
        StringBuilder name = new StringBuilder();
        for (Piece piece : pieces) {
            name.append(piece.placeholder() ? key.substring(0, end(key, piece.parts())) : piece.literal());
        }
        return name.toString();
    }

    /** The one lock that guards every key beginning with {@code prefix}; empty when there may be several. */
    Optional<LockName> lockOfAll(String prefix) {
        for (Piece piece : pieces) {
            if (piece.placeholder() && (piece.parts() == WHOLE || end(prefix, piece.parts()) == prefix.length())) {
                return Optional.empty();
            }
        }
        return Optional.of(lockOf(prefix));
    }

    /**
     * The lock of that name; empty when no key whatever has it. Exact, by trying: what the placeholder that takes most took
     * stands in the name as it is, and is a key of that lock itself. Only an empty first part is no key; "/" begins with it.
     */
    Optional<LockName> lockCalled(String name) {
        LockName lock;
        try {
            lock = new LockName(name);
        } catch (RejectedException e) {
            return Optional.empty(); // A key that would have it is refused.
        }
        boolean found = name.equals(filled("/"));
        for (int from = 0; !found && from < name.length(); from++) {
            for (int to = name.length(); !found && to > from; to--) {
                found = name.equals(filled(name.substring(from, to)));
            }
        }
        return found ? Optional.of(lock) : Optional.empty();
    }

    /** Where the first {@code parts} parts of {@code key} end: before the slash after them, or at the key's end. */
    private static int end(String key, int parts) {
        if (parts == WHOLE) {
            return key.length();
        }
        int end = -1;
        for (int part = 0; part < parts; part++) {
            end = key.indexOf('/', end + 1);
            if (end < 0) {
                return key.length();
            }
        }
        return end;
    }

    @Override
    public String toString() {
        return text;
    }
}
