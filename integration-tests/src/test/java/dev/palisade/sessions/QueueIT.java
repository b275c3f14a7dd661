package dev.palisade.sessions;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.AcquireResult;
import dev.palisade.client.PalisadeClient;
import dev.palisade.scenario.Child;
import dev.palisade.sessions.Scene.Watched;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A hundred waiters, some of them dead, stopped or gone: the living keep their order, one is woken at a time (A10). */
@Execution(ExecutionMode.CONCURRENT)
class QueueIT {
    private static final String LOCK = "job/1";
    private static final long TTL_MILLIS = 30_000;

    private final Scene scene = new Scene();
    private final Relay relay = scene.relay();
    private final List<CompletableFuture<AcquireResult>> living = new ArrayList<>();
    private int queued;

    @AfterEach
    void close() {
        scene.close();
    }

    /** Waiters of one client of this process, spread over the others by their turns. */
    private void queue(PalisadeClient client, int count) {
        for (int i = 0; i < count; i++) {
            living.add(Scene.queue(client, LOCK, TTL_MILLIS));
            queued++;
            awaitQueued();
        }
    }

    private void queue(Child tenant, int count) {
        for (int i = 0; i < count; i++) {
            tenant.send("take " + LOCK + " " + TTL_MILLIS + " 60000");
            queued++;
            awaitQueued();
        }
    }

    private void awaitQueued() {
        Scene.eventually().until(() -> scene.describe(LOCK).waitersTotal() == queued);
    }

    @Test
    void theLivingAreServedInTheirOrderAndEachReleaseWakesOnlyTheNext() {
        Watched before = Scene.take(scene.client("before", scene.address()), LOCK, TTL_MILLIS);
        List<PalisadeClient> clients = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            clients.add(scene.client("client " + i, relay.address()));
        }
        Child deadAtTheHead = scene.tenant("dead at the head", scene.address(), Map.of());
        Child deadInTheMiddle = scene.tenant("dead in the middle", scene.address(), Map.of());
        Child stopped = scene.tenant("stopped", scene.address(), Map.of());
        queue(deadAtTheHead, 3);
        for (PalisadeClient client : clients) {
            queue(client, 5);
        }
        queue(deadInTheMiddle, 3);
        queue(stopped, 2);
        List<CompletableFuture<AcquireResult>> cancelled = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            cancelled.add(Scene.queue(clients.get(i), LOCK, TTL_MILLIS));
            queued++;
            awaitQueued();
        }
        for (PalisadeClient client : clients) {
            queue(client, 6);
        }
        assertThat(queued).isEqualTo(100);

        deadAtTheHead.kill();
        deadInTheMiddle.kill();
        stopped.pause();
        cancelled.forEach(wait -> wait.cancel(false));
        queued -= 10;
        awaitQueued();
        before.lease().close();

        long last = before.token();
        for (int turn = 0; turn < living.size(); turn++) {
            Watched held = Scene.await(living.get(turn));
            assertThat(held.token()).isGreaterThan(last);
            assertThat(living.subList(turn + 1, living.size()))
                    .as("nobody behind is granted")
                    .noneMatch(CompletableFuture::isDone);
            assertThat(relay.offers()).as("one offer for each release").isEqualTo(turn + 1);
            last = held.token();
            held.lease().close();
        }
        assertThat(living).hasSize(88);

        // The stopped one's are given up after their second offer.
        Scene.eventually().until(() -> scene.describe(LOCK).waitersTotal() == 0);
    }
}
