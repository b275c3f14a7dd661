package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.palisade.proto.v1.Call.CallCase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every blocking call ends with an InterruptedException and a cleared flag, as a wait of the JDK does. */
@Timeout(60)
class InterruptionTest extends Fixture {
    private interface Blocking {
        void call(PalisadeClient client) throws InterruptedException;
    }

    @SuppressWarnings("ImmutableEnumChecker") // The calls are functions that keep nothing.
    private enum Way {
        ACQUIRE(client -> client.acquire(LOCK)),
        ACQUIRE_WITHIN(client -> client.acquire(LOCK, Duration.ofMinutes(1))),
        ACQUIRE_AS(client -> client.acquire(LOCK, AcquireOptions.waiting().shared())),
        TRY(client -> client.tryAcquire(LOCK)),
        TRY_AS(client -> client.tryAcquire(LOCK, WAIT_MINUTE)),
        RUN(client -> client.runLocked(LOCK, WAIT_MINUTE, lease -> fail())),
        CALL(client -> client.callLocked(LOCK, WAIT_MINUTE, lease -> fail())),
        DESCRIBE(client -> client.describe(LOCK)),
        LOCK_INTERRUPTIBLY(
                client -> client.advisoryLock(LOCK, AcquireOptions.trying()).lockInterruptibly());

        private final Blocking blocking;

        Way(Blocking blocking) {
            this.blocking = blocking;
        }

        private static boolean fail() {
            throw new AssertionError("the work was begun");
        }
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void anInterruptedWaitEndsAndClearsTheFlag(Way way) throws Exception {
        server.script = call -> call.hasAcquire() ? server.queueAll(call) : null;
        int before = waiting();
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        Thread waiter = new Thread(() -> {
            try {
                way.blocking.call(client);
                thrown.completeExceptionally(new AssertionError("it returned"));
            } catch (Throwable e) {
                thrown.complete(Thread.currentThread().isInterrupted() ? new AssertionError("the flag is set", e) : e);
            }
        });
        waiter.start();
        await().until(() -> waiting() > before);
        waiter.interrupt();
        waiter.join();
        assertThat(thrown.join()).isExactlyInstanceOf(InterruptedException.class);
        assertThat(count(CallCase.LEAVE)).isEqualTo(way == Way.DESCRIBE ? 0 : 1);
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void interruptedThreadSendsNothing(Way way) {
        int before = waiting();
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> way.blocking.call(client)).isExactlyInstanceOf(InterruptedException.class);
        assertThat(Thread.interrupted()).as("the flag").isFalse();
        assertThat(waiting()).isEqualTo(before);
    }

    @Test
    void anInterruptedRenewalLeavesTheLeaseHeld() {
        Lease lease = held();
        time.passUnnoticedMillis(5_000);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> lease.ensureValidFor(Duration.ofSeconds(8)))
                .isExactlyInstanceOf(InterruptedException.class);
        assertThat(Thread.interrupted()).as("the flag").isFalse();
        assertThat(lease.isValid()).isTrue();
    }

    @Test
    void aReleaseIsNotEndedByAnInterruptAndKeepsTheFlag() {
        Lease lease = held();
        Thread.currentThread().interrupt();
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(Thread.interrupted()).as("the flag").isTrue();
    }

    @Test
    void anInterruptDoesNotMakeAWaitLonger() {
        List<Duration> limits = new ArrayList<>();
        BlockingWait wait = new BlockingWait(
                (future, limit) -> {
                    limits.add(limit);
                    time.passUnnoticedMillis(700);
                    if (limits.size() < 3) {
                        Thread.currentThread().interrupt();
                    }
                    return limits.size() == 3;
                },
                time.clocks());
        assertThat(wait.uninterruptibly(new CompletableFuture<>(), Duration.ofSeconds(1), "late"))
                .isEqualTo("late");
        assertThat(limits).containsExactly(Duration.ofSeconds(1), Duration.ofMillis(300), Duration.ZERO);
        assertThat(Thread.interrupted()).as("the flag").isTrue();
    }

    private int waiting() {
        return Stream.of(CallCase.ACQUIRE, CallCase.DESCRIBE)
                .mapToInt(this::count)
                .sum();
    }
}
