package dev.palisade.client;

import java.util.concurrent.Executor;

/** Where a {@link Loop} runs. For any thread. */
interface Entry {
    /** Runs {@code task} where the loop is: at once, if that is here. */
    void enter(Runnable task);

    /** Runs {@code task} there behind everything that was brought by now. */
    void behind(Runnable task);

    /** Wherever {@code executor} runs it, which is at once; so the loop is with whoever brings the first task. */
    static Entry of(Executor executor) {
        return new Entry() {
            @Override
            public void enter(Runnable task) {
                executor.execute(task);
            }

            @Override
            public void behind(Runnable task) {
                executor.execute(task);
            }
        };
    }
}
