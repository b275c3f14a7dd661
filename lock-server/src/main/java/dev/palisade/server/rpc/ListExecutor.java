package dev.palisade.server.rpc;

import dev.palisade.contract.Rejection;
import dev.palisade.server.core.Limits;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Bounded queue of listings: a page takes up to a megabyte and the time to encode it. Beyond the bound a listing is refused, and costs
 * nothing. Safe for use by many threads.
 */
final class ListExecutor {
    /** Listings that are read or encoded at one time. */
    static final int LISTINGS_MAX = 64;

    private final Executor threads;
    private final AtomicInteger running = new AtomicInteger();

    /** @param threads few; their queue is bounded by this class */
    ListExecutor(Executor threads) {
        this.threads = threads;
    }

    /**
     * Reads a page and encodes it on a thread of its own.
     *
     * @throws dev.palisade.contract.RejectedException LIMIT_EXCEEDED when too many are under way
     */
    <P, R> CompletionStage<R> list(Supplier<CompletionStage<P>> read, Function<P, R> encode) {
        if (running.incrementAndGet() > LISTINGS_MAX) {
            running.decrementAndGet();
            throw Limits.exceeded("listingsMax", "listingsMax is " + LISTINGS_MAX + "; try again later")
                    .with(Rejection.APPLIED, "no")
                    .asException();
        }
        try {
            return read.get()
                    .thenApplyAsync(encode, threads)
                    .whenComplete((reply, failure) -> running.decrementAndGet());
        } catch (RuntimeException | Error e) {
            running.decrementAndGet();
            throw e;
        }
    }
}
