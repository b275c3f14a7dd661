package dev.palisade.gateway;

import com.linecorp.armeria.common.RequestHeaders;
import dev.palisade.contract.LockName;
import dev.palisade.contract.RejectedException;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Rule that names the lock of a request: text with {@code {name}} of the route's path, {@code {header.NAME}},
 * {@code {query.NAME}} and {@code {message.FIELD}}. Values are taken as they are, slashes included: two requests that come to one name share a
 * lock, which makes them wait for each other and never lets them pass each other. Immutable.
 */
final class LockNaming {
    private static final Pattern PLACEHOLDER =
            Pattern.compile("\\{(?:(header)\\.([A-Za-z0-9-]+)|(query)\\.([A-Za-z0-9._~-]+)|([a-z][a-z0-9_]*)"
                    + "|message\\.([A-Za-z_][A-Za-z0-9_.]*))}");

    private enum Source {
        TEXT,
        PATH,
        HEADER,
        QUERY,
        MESSAGE
    }

    /** @param value literal text, or the name of a variable, a header or a parameter, or the path of a field */
    private record Piece(Source source, String value) {}

    private final String text;
    private final List<Piece> pieces;

    private LockNaming(String text, List<Piece> pieces) {
        this.text = text;
        this.pieces = List.copyOf(pieces);
    }

    /** @throws IllegalArgumentException in one line */
    static LockNaming parse(String text, PathTemplate path) {
        List<Piece> pieces = new ArrayList<>();
        Matcher matcher = PLACEHOLDER.matcher(text);
        int from = 0;
        while (matcher.find()) {
            addText(pieces, text, text.substring(from, matcher.start()));
            pieces.add(placeholder(matcher, text, path));
            from = matcher.end();
        }
        addText(pieces, text, text.substring(from));
        try {
            LockName example = new LockName(pieces.stream()
                    .map(piece -> piece.source() == Source.TEXT ? piece.value() : "1")
                    .collect(Collectors.joining()));
            if (example.isReserved()) {
                throw new IllegalArgumentException("lock '" + text + "' begins with " + LockName.RESERVED
                        + ", which is for guards; begin it with another text");
            }
        } catch (RejectedException e) {
            throw new IllegalArgumentException("lock '" + text + "' can never be a lock's name: "
                    + e.rejection().message());
        }
        return new LockNaming(text, pieces);
    }

    private static Piece placeholder(Matcher matcher, String text, PathTemplate path) {
        if (matcher.group(1) != null) {
            if (matcher.group(2).toLowerCase(Locale.ROOT).endsWith("-bin")) {
                throw new IllegalArgumentException("lock '" + text + "': {header." + matcher.group(2)
                        + "} is binary, and one value has several spellings; use a header of text");
            }
            return new Piece(Source.HEADER, matcher.group(2));
        }
        if (matcher.group(3) != null) {
            return new Piece(Source.QUERY, matcher.group(4));
        }
        if (matcher.group(6) != null) {
            return new Piece(Source.MESSAGE, matcher.group(6));
        }
        String name = matcher.group(5);
        if (!path.names().contains(name)) {
            throw new IllegalArgumentException("lock '" + text + "': {" + name + "} is not in the path '" + path
                    + "'; use one of its names, {header.NAME}, {query.NAME} or {message.FIELD}");
        }
        return new Piece(Source.PATH, name);
    }

    private static void addText(List<Piece> pieces, String text, String literal) {
        if (literal.contains("{") || literal.contains("}")) {
            throw new IllegalArgumentException("lock '" + text
                    + "' holds a brace that is no placeholder; placeholders are {id} of the path, {header.X-Item},"
                    + " {query.id} and {message.id}");
        }
        if (!literal.isEmpty()) {
            pieces.add(new Piece(Source.TEXT, literal));
        }
    }

    /** Fields of the request's message that name the lock, by their paths. */
    List<String> messageFields() {
        return pieces.stream()
                .filter(piece -> piece.source() == Source.MESSAGE)
                .map(Piece::value)
                .distinct()
                .toList();
    }

    /**
     * @param message the value of a field by its path
     * @throws RejectedException MALFORMED_REQUEST when a value is missing, is there twice, or the name would not be
     * one
     */
    LockName lockOf(
            Map<String, String> variables,
            RequestHeaders headers,
            RequestPath target,
            Function<String, String> message) {
        StringBuilder name = new StringBuilder();
        for (Piece piece : pieces) {
            name.append(
                    switch (piece.source()) {
                        case TEXT -> piece.value();
                        case PATH -> inPath(variables, piece.value());
                        case HEADER -> header(headers, piece.value());
                        case QUERY -> target.parameter(piece.value());
                        case MESSAGE -> message.apply(piece.value());
                    });
        }
        LockName lock = new LockName(name.toString());
        if (lock.isReserved()) {
            throw RejectedException.malformed("locks that begin with " + LockName.RESERVED
                    + " are for guards; name another item, or begin lock of the route with a text");
        }
        return lock;
    }

    /** A service may take the path without the slash at its end for the same. */
    private static @Nullable String inPath(Map<String, String> variables, String name) {
        String value = variables.get(name);
        if (value != null && value.endsWith("/")) {
            throw RejectedException.malformed("the path names the lock and ends with a slash; send it without");
        }
        return value;
    }

    private static String header(RequestHeaders headers, String name) {
        String read = ForwardedHeaders.asServicesRead(name.toLowerCase(Locale.ROOT));
        List<String> values = headers.getAll(name);
        if (values.size() != 1 || values.get(0).isBlank()) {
            throw RejectedException.malformed("header '" + name + "' names the lock and is there " + values.size()
                    + " times; send it once, with a value");
        }
        for (AsciiString other : headers.names()) {
            if (!other.contentEqualsIgnoreCase(name)
                    && ForwardedHeaders.asServicesRead(other).equals(read)) {
                throw RejectedException.malformed("header '" + other + "' is '" + name
                        + "', which names the lock, to some services; send the latter only");
            }
        }
        return values.get(0);
    }

    /** The name of the lock on the paths of {@code narrower}, all of which {@code path} matches. */
    String on(PathTemplate narrower, PathTemplate path) {
        return pieces.stream()
                .map(piece -> switch (piece.source()) {
                    case TEXT -> piece.value();
                    case PATH -> path.taken(piece.value(), narrower);
                    case HEADER -> "{header." + piece.value().toLowerCase(Locale.ROOT) + "}";
                    case QUERY -> "{query." + piece.value() + "}";
                    case MESSAGE -> "{message." + piece.value() + "}";
                })
                .collect(Collectors.joining());
    }

    @Override
    public String toString() {
        return text;
    }
}
