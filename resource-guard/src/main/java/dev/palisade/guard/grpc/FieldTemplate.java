package dev.palisade.guard.grpc;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import dev.palisade.contract.LockName;
import dev.palisade.contract.RejectedException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A lock's name made from a request: text with placeholders {@code {field}} and {@code {a.b}} for string and integer fields.
 * Values are taken as they are, slashes included: two requests that come to the same name share a lock, which makes
 * them wait for each other and never lets them pass each other. Immutable.
 */
final class FieldTemplate {
    private static final Pattern PLACEHOLDER = Pattern.compile("\\{([A-Za-z_][A-Za-z0-9_.]*)}");

    /** Literal text, or the field that {@code path} leads to; one of them is empty. */
    private record Piece(String literal, List<FieldDescriptor> path) {}

    private final String text;
    private final List<Piece> pieces;

    private FieldTemplate(String text, List<Piece> pieces) {
        this.text = text;
        this.pieces = List.copyOf(pieces);
    }

    /** @throws IllegalArgumentException in one line, when {@code text} can name no lock for a {@code request} */
    static FieldTemplate parse(String text, Descriptor request) {
        if (text.isEmpty()) {
            throw new IllegalArgumentException("its lock is empty; say which lock guards it, as in orders/{order_id}");
        }
        List<Piece> pieces = new ArrayList<>();
        Matcher matcher = PLACEHOLDER.matcher(text);
        int from = 0;
        while (matcher.find()) {
            addLiteral(pieces, text, text.substring(from, matcher.start()));
            pieces.add(new Piece("", path(text, matcher.group(1), request)));
            from = matcher.end();
        }
        addLiteral(pieces, text, text.substring(from));
        FieldTemplate template = new FieldTemplate(text, pieces);
        try {
            var unused = new LockName(pieces.stream()
                    .map(piece -> piece.path().isEmpty() ? piece.literal() : "1")
                    .collect(Collectors.joining()));
        } catch (RejectedException e) {
            throw new IllegalArgumentException("lock '" + printable(text) + "' can never be a lock's name: "
                    + e.rejection().message());
        }
        return template;
    }

    private static void addLiteral(List<Piece> pieces, String text, String literal) {
        if (literal.contains("{") || literal.contains("}")) {
            throw new IllegalArgumentException("lock '" + printable(text)
                    + "' holds a brace that is no placeholder; placeholders are {field} and {a.b}");
        }
        if (!literal.isEmpty()) {
            pieces.add(new Piece(literal, List.of()));
        }
    }

    private static List<FieldDescriptor> path(String text, String names, Descriptor request) {
        List<FieldDescriptor> path = new ArrayList<>();
        Descriptor at = request;
        String[] steps = names.split("\\.", -1);
        for (int i = 0; i < steps.length; i++) {
            String where = "lock '" + printable(text) + "': field '" + steps[i] + "' of " + at.getFullName();
            FieldDescriptor field = at.findFieldByName(steps[i]);
            if (field == null) {
                throw new IllegalArgumentException(where + " does not exist; fields are "
                        + at.getFields().stream().map(FieldDescriptor::getName).collect(Collectors.joining(", ")));
            }
            boolean last = i == steps.length - 1;
            if (field.isRepeated()
                    || (last ? !isTextOrInteger(field) : field.getJavaType() != FieldDescriptor.JavaType.MESSAGE)) {
                throw new IllegalArgumentException(where
                        + (last ? " is no string and no integer" : " is no single message") + "; name one that is");
            }
            path.add(field);
            at = last ? at : field.getMessageType();
        }
        return List.copyOf(path);
    }

    private static boolean isTextOrInteger(FieldDescriptor field) {
        return switch (field.getJavaType()) {
            case STRING, INT, LONG -> true;
            default -> false;
        };
    }

    /** @throws RejectedException MALFORMED_REQUEST when a field is empty, or the name would not be one */
    LockName lockOf(Message request) {
        StringBuilder name = new StringBuilder();
        for (Piece piece : pieces) {
            name.append(piece.path().isEmpty() ? piece.literal() : value(request, piece.path()));
        }
        return new LockName(name.toString());
    }

    private String value(Message request, List<FieldDescriptor> path) {
        Message at = request;
        for (FieldDescriptor step : path.subList(0, path.size() - 1)) {
            at = (Message) at.getField(step);
        }
        FieldDescriptor field = path.get(path.size() - 1);
        Object value = at.getField(field);
        boolean empty = field.hasPresence() ? !at.hasField(field) : value.equals(field.getDefaultValue());
        if (empty || value.equals("")) {
            throw RejectedException.malformed("field '" + field.getName() + "' of "
                    + field.getContainingType().getFullName() + " is empty and names the lock '" + text + "'; set it");
        }
        return switch (field.getType()) {
            case UINT32, FIXED32 -> Integer.toUnsignedString((Integer) value);
            case UINT64, FIXED64 -> Long.toUnsignedString((Long) value);
            default -> value.toString();
        };
    }

    /** Whether some request may come to {@code name}. */
    boolean canName(String name) {
        int at = 0;
        boolean gap = false;
        for (int i = 0; i < pieces.size(); i++) {
            Piece piece = pieces.get(i);
            if (!piece.path().isEmpty()) {
                at++;
                gap = true;
                continue;
            }
            String literal = piece.literal();
            boolean last = i == pieces.size() - 1;
            int found = !gap ? at : last ? name.length() - literal.length() : name.indexOf(literal, at);
            if (found < at || !name.startsWith(literal, found)) {
                return false;
            }
            at = found + literal.length();
            gap = false;
        }
        return gap ? at <= name.length() : at == name.length();
    }

    /** On one line, whatever it holds. */
    private static String printable(String text) {
        return text.replaceAll("\\p{Cntrl}", "?");
    }

    @Override
    public String toString() {
        return text;
    }
}
