package dev.palisade.sessions;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.AcquireResult;
import dev.palisade.client.PalisadeClient;
import dev.palisade.client.StoreDescription;
import dev.palisade.redis.FreePort;
import dev.palisade.scenario.Installation;
import dev.palisade.sessions.Scene.Watched;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** An active lock server and a standby, processes of their own, over a log in one store: the other serves when one ends. */
abstract class ActiveAndStandby<P extends AutoCloseable> {
    static final long TTL_MILLIS = 30_000;
    private static final Duration AFTER_KILL = Duration.ofSeconds(3);
    private static final Duration AFTER_STOP = Duration.ofSeconds(1);

    final P product;
    private final Map<String, String> store;
    final Scene scene;
    private final Installation.Service other;
    final String both;
    final PalisadeClient client;

    /** @param product that has the log; ends with the test */
    ActiveAndStandby(P product, Function<P, String> uri) throws IOException {
        this.product = product;
        store = Map.of(
                "PALISADE_SERVER_STORE",
                uri.apply(product),
                "PALISADE_SERVER_FAILOVER_GRACE",
                "4s",
                "PALISADE_SERVER_INIT",
                "true");
        scene = new Scene(store, "--port", String.valueOf(FreePort.any()));
        other = scene.anotherServer(store, "--port", String.valueOf(FreePort.any()));
        both = scene.address() + "," + other.address();
        client = scene.client("client", both);
    }

    @AfterEach
    void close() throws Exception {
        scene.close();
        product.close();
    }

    /** Of a lock that is taken and released. */
    private long token() {
        Watched held = Scene.take(client, "orders/7", TTL_MILLIS);
        held.lease().close();
        return held.token();
    }

    private String causeOfTakeover() throws InterruptedException {
        return client.operations()
                .store()
                .log()
                .flatMap(StoreDescription.SharedLog::takeover)
                .map(StoreDescription.Takeover::why)
                .orElse("");
    }

    @Test
    void theStandbyServesWhenTheActiveServerIsKilledOrStopped() {
        Watched held = Scene.take(client, "orders/8", TTL_MILLIS);
        long first = token();
        assertThat(first).isGreaterThan(held.token());

        long killed = System.nanoTime();
        scene.server().kill();
        long second = token();
        assertThat(Scene.since(killed)).isLessThan(AFTER_KILL.plus(Scene.SLACK));
        assertThat(second).isGreaterThan(first);

        scene.restartServer(store);
        long stopped = System.nanoTime();
        CompletableFuture<Integer> exit =
                CompletableFuture.supplyAsync(() -> other.child().terminate());
        long third = token();
        assertThat(Scene.since(stopped)).isLessThan(AFTER_STOP.plus(Scene.SLACK));
        assertThat(exit.join()).isZero();
        // Not because its claim ran out: the next server did not wait for that.
        Scene.eventually().untilAsserted(() -> assertThat(causeOfTakeover()).isEqualTo("STOPPED"));
        assertThat(third).isGreaterThan(second);

        assertThat(held.loss()).isNotDone();
        assertThat(held.lease().isValid()).isTrue();
        held.lease().close();
        assertThat(Scene.take(client, "orders/8", TTL_MILLIS).token()).isGreaterThan(third);
    }

    @Test
    void waitersKeepTheirOrderWhenTheActiveServerIsKilled() throws InterruptedException {
        PalisadeClient onlooker = scene.client("onlooker of both", both);
        Watched held = Scene.take(client, "orders/7", TTL_MILLIS);
        CompletableFuture<AcquireResult> b = Scene.queue(scene.client("b", both), "orders/7", TTL_MILLIS);
        Scene.eventually().until(() -> onlooker.describe("orders/7").waitersTotal() == 1);
        CompletableFuture<AcquireResult> c = Scene.queue(scene.client("c", both), "orders/7", TTL_MILLIS);
        Scene.eventually().until(() -> onlooker.describe("orders/7").waitersTotal() == 2);

        scene.server().kill();
        Scene.eventually().until(() -> onlooker.describe("orders/7").waitersTotal() == 2);
        held.lease().close();
        Watched second = Scene.await(b);
        assertThat(c).as("is behind b").isNotDone();
        assertThat(second.token()).isGreaterThan(held.token());
        second.lease().close();
        assertThat(Scene.await(c).token()).isGreaterThan(second.token());
    }
}
