package dev.palisade.server.store.redis;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * The loader of the function library: loads it where it is missing, replaces an older one and keeps a newer one. Of several servers that
 * load at once one succeeds, and the others find its library. In the {@link Loop} only.
 */
final class FunctionLoader {
    private static final int TRIES_MAX = 5;

    private final FunctionLibrary library;
    private final Map<RedisConnection, CompletableFuture<Void>> underWay = new HashMap<>();

    FunctionLoader(FunctionLibrary library) {
        this.library = library;
    }

    /** Completes when the library, or a newer one, is there; with {@link RedisUnusable} if it cannot be. */
    CompletableFuture<Void> ensure(RedisConnection connection) {
        CompletableFuture<Void> before = underWay.get(connection);
        if (before != null) {
            return before;
        }
        CompletableFuture<Void> ensured = ensure(connection, 1);
        underWay.put(connection, ensured);
        var unusedEnd = ensured.whenComplete((done, failure) -> underWay.remove(connection));
        return ensured;
    }

    private CompletableFuture<Void> ensure(RedisConnection connection, int tries) {
        return found(connection).thenCompose(version -> {
            if (version != null && version >= library.version()) {
                return CompletableFuture.completedFuture(null);
            }
            CompletableFuture<List<Object>> loading = version == null
                    ? connection.ask("FUNCTION", "LOAD", library.code())
                    : connection.ask("FUNCTION", "LOAD", "REPLACE", library.code());
            return loading.thenRun(() -> {}).exceptionallyCompose(failure -> {
                String error = RedisUnusable.of(failure).error();
                if (error == null || !error.contains("already exists")) {
                    return CompletableFuture.failedFuture(failure);
                }
                return tries < TRIES_MAX
                        ? ensure(connection, tries + 1)
                        : CompletableFuture.failedFuture(foreign(connection, error));
            });
        });
    }

    /** The version there is; null if none. */
    private CompletableFuture<@Nullable Long> found(RedisConnection connection) {
        return connection.ask("FCALL", library.versionFunction(), "0").handle((answer, failure) -> {
            if (failure == null) {
                return answer.get(0) instanceof Long version ? version : 0L;
            }
            RedisUnusable refusal = RedisUnusable.of(failure);
            if (refusal.error() != null && ErrorReply.of(refusal.error()) == ErrorReply.NO_FUNCTION) {
                return null;
            }
            throw new CompletionException(refusal);
        });
    }

    private RedisUnusable foreign(RedisConnection connection, String error) {
        return RedisUnusable.of("Redis " + connection.address() + " has functions of another library named "
                + library.name() + " (" + error + "); FUNCTION DELETE it, or use another Redis");
    }
}
