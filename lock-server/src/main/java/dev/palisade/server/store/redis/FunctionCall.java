package dev.palisade.server.store.redis;

import dev.palisade.server.store.StoreFailure;
import java.util.List;

/** A call of a function, from its caller to the reply: it may be written more than once, but never after it may have run. */
final class FunctionCall implements Call.Listener {
    private static final int REPEATS_MAX = 5;
    private static final byte[] FCALL = Call.bytes("FCALL");

    final Reply reply;
    private final Refused refused;
    private final byte[][] words;
    private int repeats;

    /** Hears of errors, which may mean that the call is to be repeated. */
    interface Refused {
        void refused(FunctionCall call, RedisConnection connection, String error);
    }

    FunctionCall(String function, List<byte[]> keys, List<byte[]> args, Refused refused) {
        reply = new Reply();
        this.refused = refused;
        words = new byte[3 + keys.size() + args.size()][];
        words[0] = FCALL;
        words[1] = Call.bytes(function);
        words[2] = Call.bytes(Integer.toString(keys.size()));
        int next = 3;
        for (byte[] key : keys) {
            words[next++] = key;
        }
        for (byte[] arg : args) {
            words[next++] = arg;
        }
    }

    byte[][] words() {
        return words;
    }

    /** To be written once more, as it surely did not run. False when that was done often enough. */
    boolean again() {
        return ++repeats <= REPEATS_MAX;
    }

    @Override
    public void answered(RedisConnection connection, List<Object> answer) {
        reply.from(connection);
        reply.complete(answer);
    }

    @Override
    public void refused(RedisConnection connection, String error) {
        reply.from(connection);
        reply.error(error);
        refused.refused(this, connection, error);
    }

    @Override
    public void unanswered(RedisConnection connection, String why) {
        outcomeUnknown("Redis " + connection.address() + " was asked, and " + why + ": the outcome is unknown");
    }

    void unavailable(String line) {
        reply.completeExceptionally(StoreFailure.unavailable(line));
    }

    void outcomeUnknown(String line) {
        reply.completeExceptionally(StoreFailure.outcomeUnknown(line));
    }
}
