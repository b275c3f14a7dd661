package dev.palisade.server.store.log;

import dev.palisade.server.core.StoreStatus;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/**
 * What a shared log last replied about itself. Each look asks again, one question at a time, and does not wait for the reply. Safe to
 * share between threads.
 */
public final class LastStatus {
    private final AtomicBoolean isAsking = new AtomicBoolean();
    private volatile Optional<StoreStatus.SharedLog> last = Optional.empty();

    /**
     * The reply to the last question that has ended; empty if it had none.
     *
     * @param question whatever it throws or fails with: there was no reply
     */
    public Optional<StoreStatus.SharedLog> look(Supplier<CompletionStage<Optional<StoreStatus.SharedLog>>> question) {
        if (isAsking.compareAndSet(false, true)) {
            // Composed, so that a question that throws ends as one that fails.
            var unused = CompletableFuture.completedFuture(question)
                    .thenCompose(Supplier::get)
                    .whenComplete((reply, failure) -> {
                        last = failure == null ? reply : Optional.empty();
                        isAsking.set(false);
                    });
        }
        return last;
    }
}
