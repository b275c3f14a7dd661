package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.LockUnavailableException;
import dev.palisade.contract.LostReason;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Call.CallCase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class CloseTest extends Fixture {
    @Test
    void closeReleasesWhatIsHeldLeavesTheQueuesAndEndsTheStream() {
        Lease lease = held();
        List<LostReason> lost = new ArrayList<>();
        lease.onLost(lost::add);
        server.script = server::queueAll;
        CompletableFuture<AcquireResult> waiting = acquire(WAIT_MINUTE);
        client.close();
        assertThat(lost).containsExactly(LostReason.CLIENT_CLOSED);
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
        assertThat(count(CallCase.LEAVE)).isEqualTo(1);
        assertThat(waiting.join())
                .isInstanceOfSatisfying(
                        AcquireResult.Unavailable.class,
                        unavailable -> assertThat(unavailable.rejection().message())
                                .contains("a lease that the server granted meanwhile ends by itself within its ttl"));
        assertThat(server.link().completed).isTrue();
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        client.close();
        assertThatThrownBy(() -> client.tryAcquire(LOCK))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
        assertThatThrownBy(() -> client.describe(LOCK)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    @Timeout(60)
    void closeIsBoundedWhenTheServerIsDead() throws InterruptedException {
        try (ScriptedServer dead = new ScriptedServer()) {
            PalisadeClient impatient = PalisadeClient.builder()
                    .servers("scripted:1")
                    .callTimeout(Duration.ofMillis(200))
                    .channelFactory(dead::channel)
                    .build();
            assertThat(impatient.tryAcquire(LOCK)).isInstanceOf(AcquireResult.Granted.class);
            dead.script = call -> null;
            long start = System.nanoTime();
            impatient.close();
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(4));
        }
    }

    @Test
    @Timeout(60)
    void clientWithoutAServerReturnsAndCloses() throws InterruptedException {
        PalisadeClient alone = PalisadeClient.builder()
                .servers("127.0.0.1:1")
                .callTimeout(Duration.ofSeconds(2))
                .build();
        assertThat(alone.tryAcquire(LOCK))
                .isInstanceOfSatisfying(
                        AcquireResult.Unavailable.class,
                        unavailable -> assertThat(unavailable.rejection().message())
                                .contains("127.0.0.1:1")
                                .contains("refused"));
        assertThatThrownBy(() -> alone.describe(LOCK)).isInstanceOf(LockUnavailableException.class);
        alone.close();
    }

    @Test
    @Timeout(60)
    void aReleaseWithoutAnAnswerIsUnknownAfterTheCallTimeout() throws InterruptedException {
        try (ScriptedServer silent = new ScriptedServer();
                PalisadeClient impatient = PalisadeClient.builder()
                        .servers("scripted:1")
                        .callTimeout(Duration.ofMillis(100))
                        .channelFactory(silent::channel)
                        .build()) {
            silent.script = ScriptedServer.silentOn(Call::hasRelease, silent::grantAll);
            AcquireResult result = impatient.tryAcquire(LOCK);
            assertThat(result)
                    .isInstanceOfSatisfying(
                            AcquireResult.Granted.class,
                            granted -> assertThat(granted.lease().release()).isEqualTo(ReleaseOutcome.UNKNOWN));
        }
    }

    @Test
    @Timeout(60)
    void aReleaseThatCloseCutsOffIsUnknown() throws InterruptedException {
        try (ScriptedServer silent = new ScriptedServer()) {
            PalisadeClient impatient = PalisadeClient.builder()
                    .servers("scripted:1")
                    .callTimeout(Duration.ofMillis(100))
                    .channelFactory(silent::channel)
                    .callbackExecutor(Runnable::run)
                    .build();
            silent.script = ScriptedServer.silentOn(Call::hasRelease, silent::grantAll);
            Lease lease = impatient.acquire(LOCK, Duration.ZERO);
            CompletableFuture<ReleaseOutcome> released = lease.releaseAsync();
            impatient.close();
            assertThat(released).isCompletedWithValue(ReleaseOutcome.UNKNOWN);
        }
    }

    /** A waiting thread runs the loop's tasks, as if another thread were in the loop until then. */
    @Test
    void closeWaitsForAThreadThatIsInTheLoop() throws InterruptedException {
        Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
        try (ScriptedServer silent = new ScriptedServer()) {
            PalisadeClient client = PalisadeClient.builder()
                    .servers("scripted:1")
                    .channelFactory(silent::channel)
                    .callbackExecutor(Runnable::run)
                    .execution(
                            tasks::add,
                            (future, limit) -> {
                                for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
                                    task.run();
                                }
                                return true;
                            },
                            () -> 0)
                    .build();
            silent.script = ScriptedServer.silentOn(Call::hasRelease, silent::grantAll);
            Lease lease = client.acquire(LOCK, Duration.ZERO);
            CompletableFuture<ReleaseOutcome> released = lease.releaseAsync();
            client.close();
            assertThat(released).isCompletedWithValue(ReleaseOutcome.UNKNOWN);
        }
    }
}
