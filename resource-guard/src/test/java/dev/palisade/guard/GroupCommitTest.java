package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class GroupCommitTest {
    private final Semaphore steps = new Semaphore(0);
    private final CountDownLatch firstStep = new CountDownLatch(1);
    private final List<Integer> batches = Collections.synchronizedList(new ArrayList<>());
    private volatile boolean broken;

    /** Each step waits until it is let through. */
    private GroupCommit start() {
        return GroupCommit.start(
                "here",
                batch -> {
                    batches.add(batch.size());
                    firstStep.countDown();
                    steps.acquire();
                    if (broken) {
                        throw new IOException("disk on fire");
                    }
                },
                failure -> Unavailable.because("failed: " + failure.getMessage(), failure));
    }

    private static Change change(int number) {
        return new Change.Put(MarkStoreContract.mark("r" + number, number));
    }

    @Test
    void whatQueuedUpDuringAStepIsKeptByTheNextOneAndToldInOrder() throws Exception {
        GroupCommit commit = start();
        List<Integer> told = Collections.synchronizedList(new ArrayList<>());
        CompletionStage<Void> first = commit.add(change(1)).thenRun(() -> told.add(1));
        firstStep.await();
        CompletionStage<Void> last = first;
        for (int i = 2; i <= 100; i++) {
            int number = i;
            last = commit.add(change(number)).thenRun(() -> told.add(number));
        }
        assertThat(told).as("told before it was kept").isEmpty();
        steps.release();
        MarkStoreContract.await(first);
        assertThat(told).containsExactly(1);
        steps.release();
        MarkStoreContract.await(last);
        assertThat(batches).containsExactly(1, 99);
        assertThat(told).hasSize(100).isSorted();
        commit.close(null);
    }

    @Test
    void aFailedStepFailsAllThatWaitsInOrderAndAllThatComes() throws Exception {
        GroupCommit commit = start();
        broken = true;
        List<Integer> told = Collections.synchronizedList(new ArrayList<>());
        List<CompletionStage<Void>> stages = new ArrayList<>();
        List<CompletableFuture<Void>> hooks = new ArrayList<>();
        stages.add(commit.add(change(1)));
        firstStep.await();
        for (int i = 2; i <= 5; i++) {
            stages.add(commit.add(change(i)));
        }
        for (int i = 0; i < stages.size(); i++) {
            int number = i + 1;
            hooks.add(stages.get(i)
                    .whenComplete((nothing, failure) -> told.add(failure == null ? -number : number))
                    .toCompletableFuture());
        }
        steps.release();
        for (CompletableFuture<Void> hook : hooks) {
            MarkStoreContract.assertFails(hook, "failed: disk on fire");
        }
        assertThat(told).containsExactly(1, 2, 3, 4, 5);
        broken = false;
        steps.release(10);
        MarkStoreContract.assertFails(commit.add(change(6)), "failed: disk on fire");
        commit.close(change(7));
        assertThat(batches).as("nothing is tried again").containsExactly(1);
    }

    @Test
    void closingKeepsWhatWaitsAndThenItsOwnAndRefusesTheRest() throws Exception {
        GroupCommit commit = start();
        commit.add(change(1));
        firstStep.await();
        CompletionStage<Void> waiting = commit.add(change(2));
        CompletableFuture<Void> closing = CompletableFuture.runAsync(() -> commit.close(change(3)));
        while (commit.refusal() == null) {
            Thread.onSpinWait();
        }
        MarkStoreContract.assertFails(commit.add(change(4)), "closed");
        assertThat(closing).isNotDone();
        steps.release(2);
        MarkStoreContract.await(closing);
        MarkStoreContract.await(waiting);
        assertThat(batches).containsExactly(1, 2);
    }

    /** It would wait for itself for ever. */
    @Test
    void aStageCannotCloseItsOwnStore() throws Exception {
        GroupCommit commit = start();
        CompletableFuture<Void> hook = commit.add(change(1))
                .thenRun(() -> assertThatThrownBy(() -> commit.close(null)).isInstanceOf(IllegalStateException.class))
                .toCompletableFuture();
        steps.release(2);
        MarkStoreContract.await(hook);
        MarkStoreContract.await(commit.add(change(2)));
        commit.close(null);
    }
}
