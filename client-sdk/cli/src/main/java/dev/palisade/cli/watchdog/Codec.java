package dev.palisade.cli.watchdog;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Binary codec of {@link Message}. Both processes run the same jar, so the format has no versions. */
final class Codec {
    private static final int START = 1;
    private static final int VALIDITY_REQUEST = 2;
    private static final int VALIDITY_REPLY = 3;
    private static final int SIGNAL = 4;
    private static final int LOST = 5;
    private static final int STARTED = 6;
    private static final int FAILED = 7;
    private static final int ENDED = 8;

    private Codec() {}

    static byte[] bytes(Message message) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        if (message instanceof Message.Start start) {
            out.writeByte(START);
            texts(out, start.command());
            texts(out, new ArrayList<>(start.environment().keySet()));
            texts(out, new ArrayList<>(start.environment().values()));
            out.writeBoolean(start.termination().killAtOnce());
            out.writeLong(start.termination().killAfter().toNanos());
            out.writeLong(start.ttl().toNanos());
        } else if (message instanceof Message.ValidityRequest) {
            out.writeByte(VALIDITY_REQUEST);
        } else if (message instanceof Message.ValidityReply reply) {
            out.writeByte(VALIDITY_REPLY);
            out.writeLong(reply.remaining().toNanos());
        } else if (message instanceof Message.Signal signal) {
            out.writeByte(SIGNAL);
            text(out, signal.name());
        } else if (message instanceof Message.Lost) {
            out.writeByte(LOST);
        } else if (message instanceof Message.Started started) {
            out.writeByte(STARTED);
            out.writeLong(started.pid());
        } else if (message instanceof Message.Failed failed) {
            out.writeByte(FAILED);
            text(out, failed.why());
        } else if (message instanceof Message.Ended ended) {
            out.writeByte(ENDED);
            out.writeInt(ended.exitCode());
            out.writeBoolean(ended.lost());
            out.writeBoolean(ended.groupEmpty());
        }
        return bytes.toByteArray();
    }

    /** @throws IOException also when the bytes are no message */
    static Message message(byte[] bytes) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
        int kind = in.readUnsignedByte();
        return switch (kind) {
            case START -> start(in);
            case VALIDITY_REQUEST -> new Message.ValidityRequest();
            case VALIDITY_REPLY -> new Message.ValidityReply(Duration.ofNanos(in.readLong()));
            case SIGNAL -> new Message.Signal(text(in));
            case LOST -> new Message.Lost();
            case STARTED -> new Message.Started(in.readLong());
            case FAILED -> new Message.Failed(text(in));
            case ENDED -> new Message.Ended(in.readInt(), in.readBoolean(), in.readBoolean());
            default -> throw new IOException("no message begins with " + kind);
        };
    }

    private static Message start(DataInputStream in) throws IOException {
        List<String> command = texts(in);
        List<String> names = texts(in);
        List<String> values = texts(in);
        Map<String, String> environment = new LinkedHashMap<>();
        for (int i = 0; i < names.size(); i++) {
            environment.put(names.get(i), values.get(i));
        }
        TerminationPolicy termination = new TerminationPolicy(in.readBoolean(), Duration.ofNanos(in.readLong()));
        return new Message.Start(command, environment, termination, Duration.ofNanos(in.readLong()));
    }

    private static void texts(DataOutputStream out, List<String> texts) throws IOException {
        out.writeInt(texts.size());
        for (String each : texts) {
            text(out, each);
        }
    }

    private static List<String> texts(DataInputStream in) throws IOException {
        int size = in.readInt();
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            texts.add(text(in));
        }
        return texts;
    }

    /** Replaces writeUTF, whose limit is 64 KiB: an argument may be longer. */
    private static void text(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private static String text(DataInputStream in) throws IOException {
        return new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
    }
}
