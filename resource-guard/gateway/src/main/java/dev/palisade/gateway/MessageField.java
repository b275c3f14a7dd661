package dev.palisade.gateway;

import com.google.protobuf.ByteString;
import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.Label;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DiscardUnknownFieldsParser;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.cli.Suggestion;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * One string or integer field of a gRPC method's request, by its path from the message: {@code order.id}. Read by
 * protobuf's own parser with descriptors that have only the fields of the path: all others are skipped, so that a small
 * message cannot take much memory. Immutable.
 */
final class MessageField {
    private final String path;
    private final FieldDescriptor declared;
    private final List<FieldDescriptor> steps;
    private final Parser<Message> parser;

    private MessageField(String path, FieldDescriptor declared, List<FieldDescriptor> steps, Parser<Message> parser) {
        this.path = path;
        this.declared = declared;
        this.steps = List.copyOf(steps);
        this.parser = parser;
    }

    /** @throws IllegalArgumentException in one line, when the field cannot name a lock */
    static MessageField of(Descriptor message, String path) {
        List<FieldDescriptor> declared = declared(message, path);
        try {
            Descriptor narrow = narrow(declared);
            List<FieldDescriptor> steps = new ArrayList<>();
            Descriptor at = narrow;
            for (int i = 0; i < declared.size(); i++) {
                FieldDescriptor step = at.getFields().get(0);
                steps.add(step);
                if (i < declared.size() - 1) {
                    at = step.getMessageType();
                }
            }
            return new MessageField(
                    path, declared.get(declared.size() - 1), steps, DiscardUnknownFieldsParser.wrap(parserOf(narrow)));
        } catch (DescriptorValidationException e) {
            throw new IllegalArgumentException("field '" + path + "' of " + message.getFullName()
                    + " has an invalid descriptor: " + e.getMessage());
        }
    }

    @SuppressWarnings("unchecked") // Its messages are Messages.
    private static Parser<Message> parserOf(Descriptor type) {
        return (Parser<Message>)
                (Parser<?>) DynamicMessage.getDefaultInstance(type).getParserForType();
    }

    private static List<FieldDescriptor> declared(Descriptor message, String path) {
        List<FieldDescriptor> fields = new ArrayList<>();
        Descriptor at = message;
        String[] names = path.split("\\.", -1);
        for (int i = 0; i < names.length; i++) {
            String where = "'" + names[i] + "' of " + at.getFullName();
            FieldDescriptor field = at.findFieldByName(names[i]);
            if (field == null) {
                List<String> there =
                        at.getFields().stream().map(FieldDescriptor::getName).toList();
                throw new IllegalArgumentException("there is no field " + where
                        + Suggestion.of(names[i], there)
                                .map(near -> "; did you mean " + near + "?")
                                .orElse("; its fields are " + String.join(", ", there)));
            }
            if (field.isRepeated()) {
                throw new IllegalArgumentException(
                        "field " + where + " is repeated; only one that is there once can" + " name a lock");
            }
            if (field.getRealContainingOneof() != null) {
                throw new IllegalArgumentException("field " + where + " is in the oneof '"
                        + field.getRealContainingOneof().getName() + "'; only one outside of a oneof can name a lock");
            }
            fields.add(field);
            if (i < names.length - 1) {
                if (field.getJavaType() != FieldDescriptor.JavaType.MESSAGE) {
                    throw new IllegalArgumentException("field " + where + " is no message; end the path there");
                }
                at = field.getMessageType();
            } else {
                requireText(field, where);
            }
        }
        return fields;
    }

    private static void requireText(FieldDescriptor field, String where) {
        switch (field.getJavaType()) {
            case STRING, INT, LONG -> {}
            case MESSAGE ->
                throw new IllegalArgumentException("field " + where + " is a message; name a field of it, such as "
                        + field.getName() + "."
                        + field.getMessageType().getFields().stream()
                                .map(FieldDescriptor::getName)
                                .findFirst()
                                .orElse("id"));
            default ->
                throw new IllegalArgumentException("field " + where + " is of type "
                        + field.getType().toString().toLowerCase(Locale.ROOT)
                        + "; only a string or an integer can name a lock");
        }
    }

    /** A message with the first field alone, whose message has the second alone, and so on. */
    private static Descriptor narrow(List<FieldDescriptor> fields) throws DescriptorValidationException {
        FileDescriptorProto.Builder file =
                FileDescriptorProto.newBuilder().setName("narrow.proto").setSyntax("proto2");
        for (int i = 0; i < fields.size(); i++) {
            FieldDescriptor field = fields.get(i);
            FieldDescriptorProto.Builder narrow = FieldDescriptorProto.newBuilder()
                    .setName("f")
                    .setNumber(field.getNumber())
                    .setLabel(Label.LABEL_OPTIONAL)
                    // Whether a text is UTF-8 is decided here: protobuf's versions differ.
                    .setType(
                            field.getJavaType() == FieldDescriptor.JavaType.STRING
                                    ? FieldDescriptorProto.Type.TYPE_BYTES
                                    : field.getType().toProto());
            if (i < fields.size() - 1) {
                narrow.setTypeName("M" + (i + 1));
            }
            file.addMessageType(DescriptorProto.newBuilder().setName("M" + i).addField(narrow));
        }
        return FileDescriptor.buildFrom(file.build(), new FileDescriptor[0])
                .getMessageTypes()
                .get(0);
    }

    /**
     * The value in one request, as the service sees it: of several the last.
     *
     * @param bytes holds the message from {@code offset} to its end
     * @throws RejectedException MALFORMED_REQUEST, when there is none, or it is the default that stands for none
     */
    String read(byte[] bytes, int offset) {
        Message at;
        try {
            at = parser.parseFrom(bytes, offset, bytes.length - offset);
        } catch (InvalidProtocolBufferException e) {
            throw RejectedException.malformed("the message is no valid protobuf message, so its field '" + path
                    + "' names no lock; nothing was forwarded");
        }
        for (FieldDescriptor step : steps.subList(0, steps.size() - 1)) {
            if (!at.hasField(step)) {
                throw missing();
            }
            at = (Message) at.getField(step);
        }
        FieldDescriptor last = steps.get(steps.size() - 1);
        if (!at.hasField(last)) {
            throw missing();
        }
        String text = text(at.getField(last));
        if (text.isEmpty() || (text.equals("0") && !declared.hasPresence())) {
            throw missing();
        }
        return text;
    }

    private String text(Object value) {
        if (value instanceof ByteString bytes) {
            try {
                return StandardCharsets.UTF_8
                        .newDecoder()
                        .decode(bytes.asReadOnlyByteBuffer())
                        .toString();
            } catch (CharacterCodingException e) {
                throw RejectedException.malformed("the message's field '" + path + "' names the lock and is no UTF-8;"
                        + " nothing was forwarded");
            }
        }
        return switch (declared.getType()) {
            case UINT32, FIXED32 -> Integer.toUnsignedString((Integer) value);
            case UINT64, FIXED64 -> Long.toUnsignedString((Long) value);
            default -> value.toString();
        };
    }

    private RejectedException missing() {
        return RejectedException.malformed("the message's field '" + path
                + "' names the lock and is missing or empty; set it. Nothing was forwarded");
    }

    @Override
    public String toString() {
        return path;
    }
}
