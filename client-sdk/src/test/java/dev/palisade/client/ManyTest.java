package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.proto.v1.Call;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** With real threads and real time: races, batches, limits. */
@Timeout(60)
class ManyTest {
    private final ScriptedServer server = new ScriptedServer();

    private final PalisadeClient client = PalisadeClient.builder()
            .servers("scripted:1")
            .channelFactory(server::channel)
            .build();

    @AfterEach
    void close() {
        client.close();
        server.close();
    }

    @Test
    void aThousandConcurrentAcquiresAllGetALeaseOfTheirOwn() {
        List<CompletableFuture<AcquireResult>> asked = IntStream.range(0, 1_000)
                .parallel()
                .mapToObj(i -> client.acquireAsync("lock/" + i, AcquireOptions.trying()))
                .toList();
        Set<Long> tokens = asked.stream()
                .map(future -> Fixture.leaseOf(joined(future)).token().value())
                .collect(Collectors.toSet());
        assertThat(tokens).hasSize(1_000);
        asked.forEach(future -> assertThat(Fixture.leaseOf(future).release()).isEqualTo(ReleaseOutcome.RELEASED));
    }

    @Test
    void noMoreCallsAreInFlightThanTheServerAllows() {
        server.callsInFlightMax = 10;
        server.link().breakOff();
        AtomicInteger seen = new AtomicInteger();
        server.script = call -> {
            if (call.hasAcquire()) {
                seen.incrementAndGet();
                return null;
            }
            return server.grantAll(call);
        };
        List<CompletableFuture<AcquireResult>> asked = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            asked.add(client.acquireAsync("lock/" + i, AcquireOptions.trying()));
        }
        await().untilAsserted(() -> assertThat(seen).hasValue(10));
        server.script = server::grantAll;
        List<Call> held = server.link().calls(Call.CallCase.ACQUIRE);
        held.forEach(call -> server.link().answer(call, server.grantAll(call)));
        assertThat(asked.stream().map(ManyTest::joined)).allMatch(CompletableFuture::isDone);
    }

    @Test
    void tenThousandLeasesAreRenewedByOneKeepAliveEach() {
        long threadsBefore = threads();
        List<CompletableFuture<AcquireResult>> asked = IntStream.range(0, 10_000)
                .mapToObj(i ->
                        client.acquireAsync("lock/" + i, AcquireOptions.trying().ttl(Duration.ofSeconds(1))))
                .toList();
        asked.forEach(CompletableFuture::join);
        long before = server.link().keepAlives();
        await().until(() -> server.link().keepAlives() >= before + 6);
        assertThat(asked).allMatch(future -> Fixture.leaseOf(future).isValid());
        assertThat(server.links).hasSize(1);
        assertThat(threads() - threadsBefore).isLessThanOrEqualTo(2);
    }

    @Test
    void acquireAndReleaseFromManyThreadsLeaveNothingBehind() throws InterruptedException {
        ExecutorService threads = Executors.newFixedThreadPool(8);
        CountDownLatch done = new CountDownLatch(8);
        AtomicInteger released = new AtomicInteger();
        for (int t = 0; t < 8; t++) {
            String lock = "lock/" + t;
            threads.execute(() -> {
                for (int i = 0; i < 500; i++) {
                    try (Lease lease = client.acquire(lock)) {
                        if (lease.isValid()) {
                            released.incrementAndGet();
                        }
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                }
                done.countDown();
            });
        }
        done.await();
        threads.shutdown();
        assertThat(released).hasValue(4_000);
        assertThat(server.link().calls(Call.CallCase.RELEASE)).hasSize(4_000);
        assertThat(server.link().frames).allMatch(frame -> frame.getCallsCount() <= 256);
    }

    @Test
    void anExecutorThatRejectsDoesNotLoseTheResult() {
        try (PalisadeClient rejecting = PalisadeClient.builder()
                .servers("scripted:1")
                .channelFactory(server::channel)
                .callbackExecutor(task -> {
                    throw new RejectedExecutionException("full");
                })
                .build()) {
            assertThat(joined(rejecting.acquireAsync("lock", AcquireOptions.trying())))
                    .isDone();
        }
    }

    private static long threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("palisade-"))
                .count();
    }

    private static <T> CompletableFuture<T> joined(CompletableFuture<T> future) {
        future.join();
        return future;
    }
}
