package dev.palisade.server.store;

import dev.palisade.contract.LockName;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.StoreStatus;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** Where locks are kept. Safe to share between threads. */
public interface LockStore extends AutoCloseable {
    /**
     * Decides {@code command} and makes its effect durable.
     *
     * @return completes with the answer once nothing can take it back, or with {@link StoreFailure}
     */
    CompletionStage<Answer> execute(Command command);

    /**
     * Runs {@code asks}, which executes several commands; a store may begin with them only at its end, and decide them on this thread. Not
     * for a thread that may be interrupted.
     */
    default void together(Runnable asks) {
        asks.run();
    }

    /**
     * The past of a lock, oldest first, at most {@link HistoryEntry#LISTED_MAX}. Of a lock that is not remembered: none.
     *
     * @return completes with nothing that can be taken back, or with {@link StoreFailure}
     */
    CompletionStage<List<HistoryEntry>> history(LockName lock);

    /**
     * A page of the locks in use whose names begin with {@code prefix}. A name that is in use from the first page to the last is
     * on exactly one of them; of others nothing is promised.
     *
     * @param after the page before's {@link LockPage#nextAfter()}; empty for the first
     * @param locksMax 1 or more
     * @return completes with nothing that can be taken back, or with {@link StoreFailure}
     */
    CompletionStage<LockPage> list(String prefix, String after, int locksMax);

    /** The store's time, in which every decision is made: milliseconds since 1970 that never go back. */
    long nowMillis();

    /**
     * Why this server may not serve sessions: another one is active. Empty while it is active, and of a store without standbys.
     */
    default Optional<StoreFailure> standby() {
        return Optional.empty();
    }

    /** Whether it may forget what it has answered. */
    default boolean mayLosePast() {
        return false;
    }

    /** Whether it lost data, and waits for holders to come back. */
    boolean isRecovering();

    /** The state as this process knows it now. Never blocks, and makes no call. */
    StoreStatus status();

    /** Sends every later change to {@code listener}. Called once, before the first command. */
    void listen(Listener listener);

    @Override
    void close();

    /** Hears of changes, on one thread at a time and in order per lock: be brief, do not block. */
    interface Listener {
        /**
         * A decision took effect and is durable. Called after the command that caused it was answered.
         *
         * @param next the lock after it
         * @param events what changed
         * @param decidedAtMillis the store's time at which it was made
         */
        void changed(LockState next, List<LockEvent> events, long decidedAtMillis);

        /** Everything decided together has been told: a good moment to flush. */
        void told();

        /**
         * This server is no longer active: {@link #standby} says so already. Whatever it was asked to free, another server decides.
         */
        default void deposed(StoreFailure why) {}

        /** A takeover is over, by this server or another one, or failed: {@link #standby} says so already. */
        default void takeoverEnded() {}
    }
}
