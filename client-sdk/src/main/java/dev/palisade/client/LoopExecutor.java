package dev.palisade.client;

import java.util.concurrent.Executor;

/** An executor that runs the tasks of a {@link Loop} on its thread. For any thread. */
interface LoopExecutor {
    /** Runs {@code task} on the loop's thread: at once if that is the calling thread, else after all queued tasks. */
    void execute(Runnable task);

    /** Runs {@code task} on the loop's thread after all queued tasks, also if that is the calling thread. */
    void enqueue(Runnable task);

    /** A loop executor without a queue: {@code executor} runs every task at once, on the thread that submits it. */
    static LoopExecutor of(Executor executor) {
        return new LoopExecutor() {
            @Override
            public void execute(Runnable task) {
                executor.execute(task);
            }

            @Override
            public void enqueue(Runnable task) {
                executor.execute(task);
            }
        };
    }
}
