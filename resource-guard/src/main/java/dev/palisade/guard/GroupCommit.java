package dev.palisade.guard;

import dev.palisade.contract.RejectedException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Group commit of a store, on one thread: all changes that were queued during the previous commit become durable in
 * one commit. Their callers are then notified, in order. The first failure of a batch with changes is final: every
 * waiting and later change fails with it, and no commit is retried. Never drops or reorders a change.
 */
final class GroupCommit {
    /** Keeps a batch durably, all of it or none. */
    interface Step {
        /** @throws NothingChangedException when only this batch fails; any other exception is final */
        void commit(List<Change> batch) throws Exception;
    }

    /** Failure of a step without changes: the store stays usable. */
    static final class NothingChangedException extends Exception {
        private static final long serialVersionUID = 1L;

        private final transient RejectedException rejection;

        NothingChangedException(RejectedException rejection) {
            super(rejection);
            this.rejection = rejection;
        }
    }

    /** Bounds how long the first of a batch waits for the rest, and the memory of one step. */
    private static final int BATCH_MAX = 4096;

    private final BlockingQueue<Entry> queue = new LinkedBlockingQueue<>();
    private final Step step;
    private final Function<Throwable, RejectedException> wording;
    private final RejectedException closed;
    private final Thread thread;
    private final Object lock = new Object();
    private @Nullable RejectedException refusal;

    private record Entry(@Nullable Change change, CompletableFuture<Void> kept) {}

    private GroupCommit(String name, Step step, Function<Throwable, RejectedException> wording) {
        this.step = step;
        this.wording = wording;
        this.closed = Unavailable.because("the mark store (" + name + ") was closed; open it anew");
        this.thread = new Thread(this::run, "palisade-marks");
        this.thread.setDaemon(true);
    }

    /**
     * @param name where the marks are kept, for messages
     * @param step called on the one thread
     * @param wording makes what is answered from then on of the failure of a step
     */
    static GroupCommit start(String name, Step step, Function<Throwable, RejectedException> wording) {
        GroupCommit commit = new GroupCommit(name, step, wording);
        commit.thread.start();
        return commit;
    }

    CompletionStage<Void> add(Change change) {
        Entry entry = new Entry(change, new CompletableFuture<>());
        synchronized (lock) {
            if (refusal != null) {
                return CompletableFuture.failedStage(refusal);
            }
            queue.add(entry);
        }
        return entry.kept();
    }

    /** The reason why every change is refused now; null while none is. */
    @Nullable
    RejectedException refusal() {
        synchronized (lock) {
            return refusal;
        }
    }

    /**
     * Accepts no more changes, and waits until those that were accepted, and then {@code last}, are durable or have
     * failed. Only waits when a step has failed, or the second time.
     */
    void close(@Nullable Change last) {
        if (Thread.currentThread() == thread) {
            throw new IllegalStateException(
                    "a mark store cannot be closed from a stage it completes; use another thread");
        }
        synchronized (lock) {
            if (refusal == null) {
                refusal = closed;
                if (last != null) {
                    queue.add(new Entry(last, new CompletableFuture<>()));
                }
                queue.add(new Entry(null, new CompletableFuture<>()));
            }
        }
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        List<Entry> batch = new ArrayList<>();
        try {
            boolean open = true;
            while (open) {
                batch.add(queue.take());
                queue.drainTo(batch, BATCH_MAX - 1);
                List<Change> changes = new ArrayList<>(batch.size());
                for (Entry entry : batch) {
                    if (entry.change() != null) {
                        changes.add(entry.change());
                    }
                }
                open = changes.size() == batch.size();
                RejectedException failure = changes.isEmpty() ? null : commit(changes);
                batch.forEach(entry -> complete(entry, failure));
                batch.clear();
            }
        } catch (Exception | Error e) {
            fail(e, batch);
        }
    }

    private @Nullable RejectedException commit(List<Change> changes) throws Exception {
        try {
            step.commit(changes);
            return null;
        } catch (NothingChangedException e) {
            return e.rejection;
        }
    }

    private static void complete(Entry entry, @Nullable RejectedException failure) {
        if (failure == null) {
            entry.kept().complete(null);
        } else {
            entry.kept().completeExceptionally(failure);
        }
    }

    private void fail(Throwable failure, List<Entry> batch) {
        RejectedException rejection = wording.apply(failure);
        synchronized (lock) {
            refusal = rejection;
            queue.drainTo(batch);
        }
        batch.forEach(entry -> entry.kept().completeExceptionally(rejection));
    }
}
