package dev.palisade.server.store;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A loop over asynchronous calls with bounded concurrency: other callers do not wait behind all of them. */
public final class BoundedConcurrency<T> {
    private final List<T> all;
    private final Function<T, CompletionStage<?>> ask;
    private final AtomicInteger next = new AtomicInteger();
    private final AtomicInteger open;
    private final CompletableFuture<@Nullable Void> done = new CompletableFuture<>();

    private BoundedConcurrency(int atATime, List<T> all, Function<T, CompletionStage<?>> ask) {
        this.all = all;
        this.ask = ask;
        this.open = new AtomicInteger(atATime);
    }

    /**
     * Asks for each of {@code all}, the next when one of the last is answered.
     *
     * @param atATime 1 or more
     * @param ask does not throw; its result, also a failure, is ignored here
     * @return completes when all are answered; never fails
     */
    public static <T> CompletionStage<@Nullable Void> forEach(
            int atATime, List<T> all, Function<T, CompletionStage<?>> ask) {
        int lines = Math.max(1, Math.min(atATime, all.size()));
        BoundedConcurrency<T> few = new BoundedConcurrency<>(lines, all, ask);
        for (int i = 0; i < lines; i++) {
            few.goOn();
        }
        return few.done;
    }

    /** One line of them: the next, and the next. Answers that are there already cost no depth. */
    private void goOn() {
        for (int i = next.getAndIncrement(); i < all.size(); i = next.getAndIncrement()) {
            CompletableFuture<?> answer = ask.apply(all.get(i)).toCompletableFuture();
            if (!answer.isDone()) {
                var unused = answer.whenComplete((any, failure) -> goOn());
                return;
            }
        }
        if (open.decrementAndGet() == 0) {
            done.complete(null);
        }
    }
}
