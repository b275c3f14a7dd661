package dev.palisade.server.store.redis;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BooleanSupplier;

/**
 * The handshake with a primary: connects, accepts only a Redis that may keep locks, and loads the function library where it is missing.
 * In the {@link Loop} only.
 *
 * @param started what must be mended before a start is only warned of later
 */
record Handshake(StoreUri uri, Connector connector, FunctionLoader loader, BooleanSupplier started) {
    /** Fails with {@link RedisUnusable}, and then leaves no connection. */
    CompletableFuture<Primary> link(Address address) {
        return connector
                .connect(address)
                .thenCompose(connection -> greet(connection).whenComplete((primary, failure) -> {
                    if (failure != null) {
                        connection.close("it cannot be used");
                    }
                }));
    }

    private CompletableFuture<Primary> greet(RedisConnection connection) {
        return ServerInfo.of(connection).thenCompose(info -> {
            String refusal = info.refusal(connection.address(), uri.kind());
            if (refusal == null && !started.getAsBoolean()) {
                refusal = info.refusalAtStart(connection.address());
            }
            return refusal != null
                    ? CompletableFuture.failedFuture(RedisUnusable.of(refusal))
                    : loader.ensure(connection).thenApply(done -> {
                        if (!connection.isOpen()) {
                            throw new CompletionException(
                                    new RedisUnusable(connection.address(), "the connection broke"));
                        }
                        return new Primary(connection, info);
                    });
        });
    }
}
