package dev.palisade.server.store.redis;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * Sees to it that a Redis has the function library: loads it where it is missing, puts it in the place of an older one and leaves a
 * newer one alone. Of several servers that do so at once one loads and the others find it. Belongs to the loop.
 */
final class Loading {
    private static final int TRIES_MAX = 5;

    private final FunctionLibrary library;
    private final Map<Wire, CompletableFuture<Void>> underWay = new HashMap<>();

    Loading(FunctionLibrary library) {
        this.library = library;
    }

    /** Completes when the library, or a newer one, is there; with {@link Refusal} if it cannot be. */
    CompletableFuture<Void> ensure(Wire wire) {
        CompletableFuture<Void> before = underWay.get(wire);
        if (before != null) {
            return before;
        }
        CompletableFuture<Void> ensured = ensure(wire, 1);
        underWay.put(wire, ensured);
        var unusedEnd = ensured.whenComplete((done, failure) -> underWay.remove(wire));
        return ensured;
    }

    private CompletableFuture<Void> ensure(Wire wire, int tries) {
        return found(wire).thenCompose(version -> {
            if (version != null && version >= library.version()) {
                return CompletableFuture.completedFuture(null);
            }
            CompletableFuture<List<Object>> loading = version == null
                    ? wire.ask("FUNCTION", "LOAD", library.code())
                    : wire.ask("FUNCTION", "LOAD", "REPLACE", library.code());
            return loading.thenRun(() -> {}).exceptionallyCompose(failure -> {
                String error = Refusal.of(failure).error();
                if (error == null || !error.contains("already exists")) {
                    return CompletableFuture.failedFuture(failure);
                }
                return tries < TRIES_MAX
                        ? ensure(wire, tries + 1)
                        : CompletableFuture.failedFuture(foreign(wire, error));
            });
        });
    }

    /** The version there is; null if none. */
    private CompletableFuture<@Nullable Long> found(Wire wire) {
        return wire.ask("FCALL", library.versionFunction(), "0").handle((answer, failure) -> {
            if (failure == null) {
                return answer.get(0) instanceof Long version ? version : 0L;
            }
            Refusal refusal = Refusal.of(failure);
            if (refusal.error() != null && ErrorReply.of(refusal.error()) == ErrorReply.NO_FUNCTION) {
                return null;
            }
            throw new CompletionException(refusal);
        });
    }

    private Refusal foreign(Wire wire, String error) {
        return Refusal.of("Redis " + wire.address() + " has functions of another library named " + library.name() + " ("
                + error + "); FUNCTION DELETE it, or use another Redis");
    }
}
