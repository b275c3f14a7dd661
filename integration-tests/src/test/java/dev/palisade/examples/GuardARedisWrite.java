package dev.palisade.examples;

import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.guard.Binding;
import dev.palisade.guard.redis.CommandList;
import dev.palisade.guard.redis.FencedRedis;
import dev.palisade.guard.redis.RedisReply;
import io.lettuce.core.api.StatefulRedisConnection;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** The guarded write of the Redis guide. */
public final class GuardARedisWrite {
    private GuardARedisWrite() {}

    public static long run(StatefulRedisConnection<String, String> connection, Path keyset, SignedSequencer sequencer)
            throws IOException {
        // snippet
        FencedRedis fenced =
                FencedRedis.create(connection, KeysetFile.open(keyset).verifier("palisade"));
        CommandList work = CommandList.of("HSET", "{orders/42}", "status", "paid")
                .then("RPUSH", "{orders/42}:log", "paid")
                .then("HINCRBY", "{orders/42}", "changes", 1);
        List<RedisReply> replies = fenced.write(sequencer, Binding.of("orders/42"), work);
        long changes = replies.get(2).number();
        // end
        return changes;
    }
}
