package dev.palisade.chaos.abuse;

import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.DescribeRequest;
import java.io.IOException;
import java.util.Locale;

/** The kinds of abuse. Each repeats one step until its time or its count is over; a step may keep connections open to the end. */
enum Flood {
    /** Calls whose bytes are no protobuf. */
    GARBAGE(20_000) {
        @Override
        void step(Attack attack) throws IOException {
            Http2Connection connection = attack.connection();
            connection.message(connection.call(LOCKS + "Acquire"), attack.junk(40), true);
        }
    },

    /** Session streams that say hello, then send a frame that is no protobuf; the connection is cut after a few. */
    BROKEN_FRAMES(10_000) {
        @Override
        void step(Attack attack) throws IOException {
            Http2Connection connection = attack.connection();
            int stream = connection.call(LOCKS + "Session");
            connection.message(stream, attack.hello(), false);
            connection.message(stream, BROKEN, false);
            if (attack.steps() % 50 == 0) {
                attack.newConnection();
            }
        }
    },

    /** Streams that ask for much and read no reply. */
    UNREAD_REPLIES(40) {
        @Override
        void step(Attack attack) throws IOException {
            Http2Connection connection = attack.kept(0);
            int stream = connection.call(LOCKS + "Session");
            connection.message(stream, attack.hello(), false);
            connection.message(stream, describes(1_000), false);
        }
    },

    /** Streams that resume unknown grants, as many as a client may send before the server has resumed one. */
    RESUMES(60) {
        @Override
        void step(Attack attack) throws IOException {
            Http2Connection connection = attack.keep(Http2Connection.open(attack.server()));
            int stream = connection.call(LOCKS + "Session");
            connection.message(stream, attack.hello(), false);
            for (int i = 0; i < 9; i++) {
                connection.message(stream, resumes(attack, 16), false);
            }
        }
    },

    /** Connections that send nothing but the preface. */
    IDLE_CONNECTIONS(600) {
        @Override
        void step(Attack attack) throws IOException {
            attack.keep(new Http2Connection(attack.server())).preface();
        }
    },

    /** Connections that send a header block without an end, a byte at a time. */
    HALF_OPEN(300) {
        @Override
        void step(Attack attack) throws IOException {
            Http2Connection connection = attack.keep(Http2Connection.open(attack.server()));
            connection.continuation(connection.headersWithoutEnd(LOCKS + "List"), (byte) 0);
        }
    },

    /** Calls that are reset as soon as they were begun. */
    RAPID_RESET(50_000) {
        @Override
        void step(Attack attack) throws IOException {
            Http2Connection connection = attack.connection();
            int stream = connection.call(LOCKS + "List");
            connection.message(stream, new byte[0], true);
            connection.reset(stream);
        }
    },

    /** Calls of one connection whose replies are not waited for. */
    CALLS_WITHOUT_LIMIT(20_000) {
        @Override
        void step(Attack attack) throws IOException {
            Http2Connection connection = attack.connection();
            connection.message(connection.call(LOCKS + "List"), new byte[0], true);
        }
    },

    /** Session streams that never say hello. */
    STREAMS_WITHOUT_HELLO(12_000) {
        @Override
        void step(Attack attack) throws IOException {
            attack.connection().call(LOCKS + "Session");
        }
    },

    /** Frames over the limit: of bytes, and of calls. */
    BIG_FRAMES(200) {
        @Override
        void step(Attack attack) throws IOException {
            Http2Connection connection = attack.connection();
            int stream = connection.call(LOCKS + "Session");
            connection.message(stream, attack.hello(), false);
            connection.message(stream, attack.steps() % 2 == 0 ? describes(40_000) : new byte[2 << 20], false);
            attack.newConnection();
        }
    },

    /** A header block that goes on and on. */
    CONTINUATIONS(20_000) {
        @Override
        void step(Attack attack) throws IOException {
            if (attack.steps() % 1_000 == 1) {
                attack.stream(attack.newConnection().headersWithoutEnd(LOCKS + "List"));
            }
            attack.connection().continuation(attack.stream(), Http2Connection.header("x-junk", "y".repeat(1_000)));
        }
    },

    PINGS(100_000) {
        @Override
        void step(Attack attack) throws IOException {
            attack.connection().ping();
        }
    },

    SETTINGS(100_000) {
        @Override
        void step(Attack attack) throws IOException {
            attack.connection().settings(65_535);
        }
    };

    private static final String LOCKS = "/palisade.v1.Locks/";
    /** Field 2, which has a length, of which the bytes are missing. */
    private static final byte[] BROKEN = {0x12, 0x7f, 0x01};

    private final int countMax;

    Flood(int countMax) {
        this.countMax = countMax;
    }

    /** How often its step is repeated at most. */
    int countMax() {
        return countMax;
    }

    /** @throws IOException when the server has cut the connection off: the next step opens another */
    abstract void step(Attack attack) throws IOException;

    /** As it is written on the command line. */
    String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** A frame of calls that resume 256 unknown grants each. */
    private static byte[] resumes(Attack attack, int calls) {
        ClientFrame.Builder frame = ClientFrame.newBuilder();
        for (int i = 1; i <= calls; i++) {
            Call.Builder call = frame.addCallsBuilder().setCallId(i);
            for (int j = 0; j < 256; j++) {
                call.getResumeManyBuilder()
                        .addGrantsBuilder()
                        .setLock("a")
                        .setGrantId(attack.id())
                        .setToken(1);
            }
        }
        return frame.build().toByteArray();
    }

    private static byte[] describes(int calls) {
        ClientFrame.Builder frame = ClientFrame.newBuilder();
        for (int i = 1; i <= calls; i++) {
            frame.addCalls(Call.newBuilder()
                    .setCallId(i)
                    .setDescribe(DescribeRequest.newBuilder().setLock(LONG_LOCK)));
        }
        return frame.build().toByteArray();
    }

    /** The lock that takes long to describe: see {@link LongQueue}. */
    static final String LONG_LOCK = "abuse/long";
}
