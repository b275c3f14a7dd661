package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.LostReason;
import dev.palisade.proto.v1.Call.CallCase;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** With the client's own callback thread, as users have it. */
@Timeout(60)
class CallbackThreadTest {
    private final ScriptedServer server = new ScriptedServer();
    private final PalisadeClient client = PalisadeClient.builder()
            .servers("scripted:1")
            .callTimeout(Duration.ofSeconds(5))
            .channelFactory(server::channel)
            .build();

    @AfterEach
    void close() {
        client.close();
        server.close();
    }

    private CompletableFuture<AcquireResult> acquire(String lock) {
        return client.acquireAsync(lock, AcquireOptions.trying());
    }

    /** Of a wait in a callback for a future that is not done. */
    private Throwable failureOf(Runnable wait) throws Exception {
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        Lease lease = Fixture.leaseOf(completed(acquire("mine")));
        lease.onLost(why -> {
            try {
                wait.run();
                thrown.complete(new AssertionError("the wait ended"));
            } catch (RuntimeException e) {
                thrown.complete(e);
            }
        });
        // Silent, so that the future cannot be done by chance.
        server.script = call -> null;
        ((LeaseHandle) lease).lease().markLost(LostReason.EXPIRED, "");
        return thrown.get(60, TimeUnit.SECONDS);
    }

    private static <T> CompletableFuture<T> completed(CompletableFuture<T> future) throws Exception {
        T unused = future.get(60, TimeUnit.SECONDS);
        return future;
    }

    @Test
    void callbackThatWaitsForAnotherAcquireThrowsInsteadOfHanging() throws Exception {
        assertThat(failureOf(() -> acquire("other").join()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("callbackExecutor");
    }

    @Test
    void soIsOneThatWaitsForWhatIsDerivedFromIt() throws Exception {
        assertThat(failureOf(() -> acquire("other").thenApply(result -> 1).join()))
                .isInstanceOf(IllegalStateException.class);
        server.script = server::grantAll;
    }

    @Test
    void aCallbackMayReadWhatIsDone() throws Exception {
        CompletableFuture<AcquireResult> done = completed(acquire("done"));
        CompletableFuture<AcquireResult> read = new CompletableFuture<>();
        Lease lease = Fixture.leaseOf(completed(acquire("mine")));
        lease.onLost(why -> {
            try {
                read.complete(done.join());
            } catch (RuntimeException e) {
                read.completeExceptionally(e);
            }
        });
        ((LeaseHandle) lease).lease().markLost(LostReason.EXPIRED, "");
        assertThat(read.get(60, TimeUnit.SECONDS)).isInstanceOf(AcquireResult.Granted.class);
    }

    @Test
    void aFutureThatTimesOutLeavesTheQueueAndACancelledOneToo() {
        server.script = server::queueAll;
        CompletableFuture<AcquireResult> late = queued("late").orTimeout(1, TimeUnit.MILLISECONDS);
        assertThat(late).failsWithin(Duration.ofSeconds(10));
        assertThat(queued("cancelled").cancel(true)).isTrue();
        Awaitility.await()
                .untilAsserted(() -> assertThat(server.link().calls(CallCase.LEAVE))
                        .extracting(call -> call.getLeave().getLock())
                        .containsExactlyInAnyOrder("late", "cancelled"));
    }

    /** The server has the request: an acquire that ends before leaves no queue. */
    private CompletableFuture<AcquireResult> queued(String lock) {
        CompletableFuture<AcquireResult> asked =
                client.acquireAsync(lock, AcquireOptions.waiting(Duration.ofMinutes(1)));
        Awaitility.await()
                .ignoreExceptions()
                .until(() -> server.link()
                        .last(CallCase.ACQUIRE)
                        .getAcquire()
                        .getLock()
                        .equals(lock));
        return asked;
    }
}
