package dev.palisade.server.store.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The thread of its own sleeps for an hour unless somebody wakes it: who is forgotten, hangs. */
@Timeout(120)
class CombiningExecutorTest {
    /** A batch with it waits for a reply. */
    private static final int WAITS = -1;

    private record Turn(Thread by, List<Integer> asked) {}

    private final BlockingQueue<Turn> taken = new LinkedBlockingQueue<>();
    private final AtomicInteger busy = new AtomicInteger();
    private final AtomicBoolean blocks = new AtomicBoolean();
    private final AtomicBoolean waiting = new AtomicBoolean();
    private final AtomicBoolean replied = new AtomicBoolean();
    private volatile Runnable beforeItSends = () -> {};
    private final AtomicLong lookAgainMillis = new AtomicLong(Long.MAX_VALUE);
    private final CombiningExecutor.BatchProcessor<Integer> processor = new CombiningExecutor.BatchProcessor<>() {
        @Override
        public long decide(List<Integer> asked) {
            assertThat(busy.incrementAndGet()).as("one at a time").isEqualTo(1);
            taken.add(new Turn(Thread.currentThread(), List.copyOf(asked)));
            replied.set(false);
            if (asked.contains(WAITS)) {
                beforeItSends.run();
                waiting.set(true);
            }
            busy.decrementAndGet();
            return lookAgainMillis.get();
        }

        @Override
        public boolean mayBlock() {
            return blocks.get();
        }

        @Override
        public boolean isWaiting() {
            return waiting.get();
        }

        @Override
        public boolean isReplied() {
            return replied.get();
        }

        @Override
        public long nowMillis() {
            return System.currentTimeMillis();
        }

        @Override
        public void failed(RuntimeException failure) {
            throw failure;
        }
    };
    /** The executor's own. */
    private Thread own = Thread.currentThread();

    private CombiningExecutor<Integer> executor = new CombiningExecutor<>("unused", 1, 1, processor);

    private void start(boolean wherever, int askedMax) throws InterruptedException {
        blocks.set(!wherever);
        executor = new CombiningExecutor<>("own", askedMax, Duration.ofHours(1).toMillis(), processor);
        executor.start();
        Turn first = taken.take();
        assertThat(first.asked()).as("its first look").isEmpty();
        Awaitility.await().until(() -> first.by().getState() == Thread.State.TIMED_WAITING);
        own = first.by();
    }

    @AfterEach
    void stop() {
        executor.stop();
    }

    @Test
    void whatIsAskedTogetherIsDecidedTogetherByWhoeverAsks() throws Exception {
        start(true, 10);
        executor.together(() -> {
            executor.ask(1);
            executor.ask(2);
            assertThat(taken).isEmpty();
        });
        assertThat(taken.remove()).isEqualTo(new Turn(Thread.currentThread(), List.of(1, 2)));
    }

    @Test
    void whatManyAskTogetherIsTheStoresOwn() throws Exception {
        start(true, 1_000);
        executor.together(() -> IntStream.range(0, 65).forEach(executor::ask));
        Turn turn = taken.take();
        assertThat(turn.by().getName()).isEqualTo("own");
        assertThat(turn.asked()).hasSize(65);
    }

    @Test
    void whereATurnMayBlockItIsTheStoresOwn() throws Exception {
        start(false, 10);
        executor.together(() -> {
            executor.ask(1);
            executor.ask(2);
        });
        Turn turn = taken.take();
        assertThat(turn.by().getName()).isEqualTo("own");
        assertThat(turn.asked()).containsExactly(1, 2);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whoAsksOneThingWakesTheStoresOwn(boolean wherever) throws Exception {
        start(wherever, 10);
        for (int i = 0; i < 2_000; i++) {
            executor.ask(i);
            Turn turn = taken.take();
            while (turn.asked().isEmpty()) { // It may look again before it sleeps.
                turn = taken.take();
            }
            assertThat(turn.by().getName()).isEqualTo("own");
            assertThat(turn.asked()).containsExactly(i);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void ofManyThatAskAtOnceNoneIsForgottenAndNoneIsTwice(boolean wherever) throws Exception {
        start(wherever, 1_000_000);
        int threads = 4;
        int each = 5_000;
        CountDownLatch go = new CountDownLatch(1);
        List<Thread> asking = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            int first = t * each;
            asking.add(new Thread(() -> {
                try {
                    go.await();
                } catch (InterruptedException e) {
                    return;
                }
                for (int i = first; i < first + each; i += 2) {
                    int number = i;
                    executor.together(() -> {
                        executor.ask(number);
                        executor.ask(number + 1);
                    });
                }
            }));
        }
        asking.forEach(Thread::start);
        go.countDown();
        List<Integer> decided = new ArrayList<>();
        while (decided.size() < threads * each) {
            decided.addAll(taken.take().asked());
        }
        assertThat(decided).doesNotHaveDuplicates();
    }

    @Test
    void aTurnTakenElsewhereWakesTheStoresOwnForWhatIsDueEarlier() throws Exception {
        start(true, 10);
        lookAgainMillis.set(System.currentTimeMillis() + 20);
        executor.together(() -> executor.ask(1));
        lookAgainMillis.set(Long.MAX_VALUE);
        assertThat(taken.take().by()).isEqualTo(Thread.currentThread());
        assertThat(taken.take().by().getName()).isEqualTo("own");
    }

    @Test
    void norIsItMissedBetweenALookAndTheSleepAfterIt() throws Exception {
        AtomicLong due = new AtomicLong(Long.MAX_VALUE);
        CountDownLatch aboutToSleep = new CountDownLatch(1);
        CountDownLatch turnTaken = new CountDownLatch(1);
        CountDownLatch decided = new CountDownLatch(2);
        Thread test = Thread.currentThread();
        executor = new CombiningExecutor<>(
                "own", 10, Duration.ofHours(1).toMillis(), new CombiningExecutor.BatchProcessor<>() {
                    @Override
                    public long decide(List<Integer> asked) {
                        if (Thread.currentThread() != test) {
                            due.set(Long.MAX_VALUE);
                            decided.countDown();
                        }
                        return due.get();
                    }

                    @Override
                    public boolean mayBlock() {
                        return false;
                    }

                    @Override
                    public long nowMillis() {
                        aboutToSleep.countDown();
                        try {
                            turnTaken.await();
                        } catch (InterruptedException e) {
                            throw new AssertionError(e);
                        }
                        return 1;
                    }

                    @Override
                    public void failed(RuntimeException failure) {
                        throw failure;
                    }
                });
        executor.start();
        aboutToSleep.await();
        due.set(2);
        executor.together(() -> executor.ask(1));
        turnTaken.countDown();
        decided.await();
    }

    @Test
    void whatIsAskedInATurnIsDecidedAfterIt() throws Exception {
        List<Integer> order = new ArrayList<>();
        AtomicInteger depth = new AtomicInteger();
        executor = new CombiningExecutor<>(
                "own", 10, Duration.ofHours(1).toMillis(), new CombiningExecutor.BatchProcessor<>() {
                    @Override
                    public long decide(List<Integer> asked) {
                        assertThat(depth.incrementAndGet()).isEqualTo(1);
                        order.addAll(asked);
                        if (asked.contains(1)) {
                            executor.together(() -> executor.ask(2));
                        }
                        depth.decrementAndGet();
                        return Long.MAX_VALUE;
                    }

                    @Override
                    public boolean mayBlock() {
                        return false;
                    }

                    @Override
                    public long nowMillis() {
                        return 0;
                    }

                    @Override
                    public void failed(RuntimeException failure) {
                        throw failure;
                    }
                });
        executor.together(() -> executor.ask(1));
        assertThat(order).containsExactly(1, 2);
    }

    @Test
    void tooMuchIsRefusedUntilThereIsRoom() throws Exception {
        start(true, 2);
        executor.together(() -> {
            assertThat(executor.ask(1)).isTrue();
            assertThat(executor.ask(2)).isTrue();
            assertThat(executor.ask(3)).isFalse();
        });
        executor.together(() -> assertThat(executor.ask(4)).isTrue());
    }

    @Test
    void whatWasAskedBeforeTheStopIsDecidedAndNothingAfterIt() throws Exception {
        start(false, 10);
        executor.ask(1);
        executor.stop();
        List<Integer> decided = new ArrayList<>();
        for (Turn turn = taken.poll(); turn != null; turn = taken.poll(0, TimeUnit.SECONDS)) {
            decided.addAll(turn.asked());
        }
        assertThat(decided).containsExactly(1);
        executor.together(() -> executor.ask(2));
        assertThat(taken).isEmpty();
        assertThat(executor.withdraw()).isEqualTo(2);
    }

    private void reply() {
        replied.set(true);
        waiting.set(false);
        executor.replied();
    }

    @Test
    void whileABatchWaitsNothingIsProcessedUntilItsReplyWhichTakesTheRest() throws Exception {
        start(true, 10);
        executor.together(() -> executor.ask(WAITS));
        assertThat(taken.remove().asked()).containsExactly(WAITS);
        executor.together(() -> executor.ask(1));
        executor.ask(2);
        assertThat(taken).isEmpty();
        reply();
        assertThat(taken.remove()).as("the reply").isEqualTo(new Turn(Thread.currentThread(), List.of()));
        assertThat(taken.remove()).isEqualTo(new Turn(Thread.currentThread(), List.of(1, 2)));
    }

    @Test
    void aReplyAfterWhichABatchMayBlockIsForTheStoresOwn() throws Exception {
        start(true, 10);
        executor.together(() -> executor.ask(WAITS));
        assertThat(taken.remove().asked()).containsExactly(WAITS);
        blocks.set(true);
        executor.ask(1);
        reply();
        assertThat(taken.take().by().getName()).isEqualTo("own");
        Turn rest = taken.take();
        assertThat(rest.by().getName()).isEqualTo("own");
        assertThat(rest.asked()).containsExactly(1);
    }

    @Test
    void aStopWaitsForTheReply() throws Exception {
        start(true, 10);
        executor.together(() -> executor.ask(WAITS));
        assertThat(taken.remove().asked()).containsExactly(WAITS);
        executor.ask(1);
        Thread stopping = new Thread(executor::stop);
        stopping.start();
        Awaitility.await().until(() -> stopping.getState() == Thread.State.WAITING);
        assertThat(stopping.isAlive()).isTrue();
        reply();
        stopping.join();
        List<Integer> decided = new ArrayList<>();
        taken.forEach(turn -> decided.addAll(turn.asked()));
        assertThat(decided).containsExactly(1);
    }

    /** Nothing is asked any more and nothing waits yet: its own thread must not take that for the end. */
    @Test
    void aStopWaitsForTheReplyToATurnThatHasBegun() throws Exception {
        start(true, 10);
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch stops = new CountDownLatch(1);
        beforeItSends = () -> {
            begun.countDown();
            await(stops);
        };
        Thread asking = new Thread(() -> executor.together(() -> executor.ask(WAITS)));
        asking.start();
        await(begun);
        AtomicBoolean left = new AtomicBoolean();
        Thread stopping = new Thread(() -> {
            executor.stop();
            left.set(waiting.get());
        });
        stopping.start();
        Awaitility.await()
                .until(() -> own.getState() == Thread.State.WAITING || own.getState() == Thread.State.TERMINATED);
        stops.countDown();
        asking.join();
        Awaitility.await().until(() -> own.getState() == Thread.State.TIMED_WAITING || !stopping.isAlive());
        reply();
        stopping.join();
        assertThat(left).as("left without its reply").isFalse();
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(1, TimeUnit.MINUTES)).isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Replies come on a thread of their own, as of a connection. */
    @Test
    void ofRepliesAndAsksThatCrossNoneIsForgotten() throws Exception {
        start(true, 1_000_000);
        int rounds = 5_000;
        Thread replying = new Thread(() -> {
            for (int i = 0; i < rounds; i++) {
                while (!waiting.get()) {
                    Thread.onSpinWait();
                }
                reply();
            }
        });
        replying.start();
        for (int i = 0; i < rounds; i++) {
            int number = i;
            executor.together(() -> {
                executor.ask(WAITS);
                executor.ask(number);
            });
            boolean decided = false;
            while (!decided) {
                decided = taken.take().asked().contains(number);
            }
            while (waiting.get() || replied.get()) {
                Thread.onSpinWait();
            }
        }
        replying.join();
    }
}
