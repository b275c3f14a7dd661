package dev.palisade.examples;

import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.Binding;
import dev.palisade.guard.redis.FencedRedis;
import dev.palisade.guard.redis.RedisReply;
import java.util.List;

/** The guarded script of the Redis guide. */
public final class GuardARedisScript {
    private GuardARedisScript() {}

    public static boolean run(FencedRedis fenced, SignedSequencer sequencer) {
        // snippet
        String take = """
                local left = tonumber(redis.call('GET', KEYS[1]) or '0')
                if left < tonumber(ARGV[1]) then return false end
                return redis.call('DECRBY', KEYS[1], ARGV[1])
                """;
        RedisReply left = fenced.write(sequencer, Binding.of("stock/7"), take, List.of("{stock/7}"), 3);
        boolean soldOut = left.isNil();
        // end
        return soldOut;
    }
}
