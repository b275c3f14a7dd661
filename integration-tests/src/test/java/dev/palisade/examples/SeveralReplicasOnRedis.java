package dev.palisade.examples;

import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.guard.Guard;
import dev.palisade.guard.grpc.GrpcLockService;
import dev.palisade.guard.redis.RedisRegister;
import io.grpc.Channel;
import io.lettuce.core.api.StatefulRedisConnection;
import java.io.IOException;
import java.nio.file.Path;

/** The guard of one of several replicas: all share marks and running calls in one Redis. */
public final class SeveralReplicasOnRedis {
    private SeveralReplicasOnRedis() {}

    /** @param locks to the lock server */
    public static Guard guard(StatefulRedisConnection<?, ?> connection, Path keyset, Channel locks) throws IOException {
        // snippet
        return Guard.builder(KeysetFile.open(keyset).verifier("palisade"), RedisRegister.shared(connection, "orders"))
                .lockService(GrpcLockService.at(locks, "palisade"))
                .build();
        // end
    }
}
