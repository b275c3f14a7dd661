package dev.palisade.server.admin;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import dev.palisade.contract.RejectedException;

/** Messages of the wire format in their canonical JSON: 64-bit numbers are strings, bytes are Base64. All fields are written. */
final class ProtoJson {
    private static final JsonFormat.Printer PRINTER =
            JsonFormat.printer().alwaysPrintFieldsWithNoPresence().omittingInsignificantWhitespace();

    private ProtoJson() {}

    static String text(Message message) {
        try {
            return PRINTER.print(message);
        } catch (InvalidProtocolBufferException e) {
            throw new IllegalStateException("no message of ours has an Any", e);
        }
    }

    static JsonObject tree(Message message) {
        return JsonParser.parseString(text(message)).getAsJsonObject();
    }

    /** @throws RejectedException MALFORMED_REQUEST, without what the text says */
    static void read(String text, Message.Builder into) {
        try {
            JsonFormat.parser().merge(text, into);
        } catch (InvalidProtocolBufferException | RuntimeException e) {
            throw RejectedException.malformed("the body is not JSON of "
                    + into.getDescriptorForType().getName() + ", without 'lock'; /api/v1/openapi.yaml has its fields");
        }
    }
}
