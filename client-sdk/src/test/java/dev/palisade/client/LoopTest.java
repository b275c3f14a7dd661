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
    private final Loop loop = new Loop(time.clocks(), time, Entry.of(Runnable::run), bugs::add);

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
    void whatATaskBringsUpComesAfterIt() {
        loop.execute(() -> {
            loop.execute(() -> ran.add("second"));
            ran.add("first");
        });
        assertThat(ran).containsExactly("first", "second");
    }

    @Test
    void nobodyIsLetInHereBesideAnotherNorFromInside() throws InterruptedException {
        CountDownLatch in = new CountDownLatch(1);
        CountDownLatch out = new CountDownLatch(1);
        Thread other = new Thread(() -> loop.here(() -> {
            in.countDown();
            return awaited(out);
        }));
        other.start();
        in.await();
        assertThat(loop.here(() -> ran.add("beside"))).isNull();
        out.countDown();
        other.join();
        loop.execute(() -> assertThat(loop.here(() -> ran.add("from inside"))).isNull());
        assertThat(loop.here(() -> loop.here(() -> ran.add("from here")) == null))
                .isEqualTo(true);
        assertThat(ran).isEmpty();
        assertThat(bugs).isEmpty();
    }

    @Test
    void whatIsThrownHereIsTheLoopsToTellOf() {
        RuntimeException bug = new IllegalStateException("planted");
        assertThat(loop.<Boolean>here(() -> {
                    throw bug;
                }))
                .isNull();
        assertThat(bugs).containsExactly(bug);
        loop.execute(() -> ran.add("next"));
        assertThat(ran).containsExactly("next");
    }

    @Test
    void whatAnotherThreadBringsWhileThisOneIsInHereRunsOnTheOther() throws InterruptedException {
        List<Thread> ranOn = new ArrayList<>();
        Thread other = new Thread(() -> loop.execute(() -> ranOn.add(Thread.currentThread())));
        Boolean alone = loop.here(() -> {
            other.start();
            // It has brought its task when it waits to get in, or has left it to whoever is in.
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
