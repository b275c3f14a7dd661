package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class LoopTest {
    private final FakeTime time = new FakeTime();
    private final List<Throwable> bugs = new ArrayList<>();
    private final List<String> ran = new ArrayList<>();
    private final Loop loop = new Loop(time.clocks(), time, LoopExecutor.of(Runnable::run), bugs::add);

    @Test
    void aTaskThatThrowsIsReportedAndTakesNothingWithIt() {
        loop.execute(() -> {
            loop.schedule(10, () -> {
                throw new IllegalStateException("a bug");
            });
            loop.schedule(1_000_000, () -> ran.add("later"));
        });
        time.advanceMillis(5);
        assertThat(bugs).hasSize(1);
        assertThat(ran).containsExactly("later");
    }

    @Test
    void anEarlierTaskIsNotHeldUpByALaterOne() {
        loop.execute(() -> {
            loop.schedule(9_000_000, () -> ran.add("9"));
            loop.schedule(2_000_000, () -> ran.add("2"));
        });
        time.advanceMillis(3);
        assertThat(ran).containsExactly("2");
        time.advanceMillis(6);
        assertThat(ran).containsExactly("2", "9");
    }

    @Test
    void taskThatATaskSubmitsRunsAfterIt() {
        loop.execute(() -> {
            loop.execute(() -> ran.add("second"));
            ran.add("first");
        });
        assertThat(ran).containsExactly("first", "second");
    }

    @Test
    void tryRunRunsNothingBesideATaskOrInsideOne() throws InterruptedException {
        CountDownLatch in = new CountDownLatch(1);
        CountDownLatch out = new CountDownLatch(1);
        Thread other = new Thread(() -> loop.tryRun(() -> {
            in.countDown();
            return awaited(out);
        }));
        other.start();
        in.await();
        assertThat(loop.tryRun(() -> ran.add("beside"))).isNull();
        out.countDown();
        other.join();
        loop.execute(() -> assertThat(loop.tryRun(() -> ran.add("from inside"))).isNull());
        assertThat(loop.tryRun(() -> loop.tryRun(() -> ran.add("from here")) == null))
                .isEqualTo(true);
        assertThat(ran).isEmpty();
        assertThat(bugs).isEmpty();
    }

    @Test
    void failureInTryRunIsReportedByTheLoop() {
        RuntimeException bug = new IllegalStateException("planted");
        assertThat(loop.<Boolean>tryRun(() -> {
                    throw bug;
                }))
                .isNull();
        assertThat(bugs).containsExactly(bug);
        loop.execute(() -> ran.add("next"));
        assertThat(ran).containsExactly("next");
    }

    @Test
    void taskSubmittedDuringTryRunRunsOnItsOwnThread() throws InterruptedException {
        List<Thread> ranOn = new ArrayList<>();
        Thread other = new Thread(() -> loop.execute(() -> ranOn.add(Thread.currentThread())));
        Boolean alone = loop.tryRun(() -> {
            other.start();
            // By then it waits for the task lock, or has left its task to the thread that holds it.
            while (other.getState() != Thread.State.WAITING && other.getState() != Thread.State.TERMINATED) {
                Thread.onSpinWait();
            }
            return ranOn.isEmpty();
        });
        other.join();
        assertThat(alone).isTrue();
        assertThat(ranOn).containsExactly(other);
    }

    private static boolean awaited(CountDownLatch latch) {
        try {
            return latch.await(1, TimeUnit.MINUTES);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
