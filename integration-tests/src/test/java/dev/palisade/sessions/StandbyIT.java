package dev.palisade.sessions;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.AcquireResult;
import dev.palisade.client.PalisadeClient;
import dev.palisade.redis.RedisProcess;
import dev.palisade.scenario.TimingSensitive;
import dev.palisade.sessions.Scene.Watched;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Over a log in Redis. */
@TimingSensitive("A takeover has its time, which other tests would use up")
class StandbyIT extends ActiveAndStandby<RedisProcess> {
    StandbyIT() throws IOException {
        super(RedisProcess.start(), RedisProcess::uri);
    }

    @Test
    void aHolderKeepsItsLeaseAlthoughRedisForgotIt() throws InterruptedException {
        PalisadeClient onlooker = scene.client("onlooker of both", both);
        Watched held = Scene.take(client, "orders/7", 3_000);
        CompletableFuture<AcquireResult> b = Scene.queue(scene.client("b", both), "orders/7", TTL_MILLIS);
        Scene.eventually().until(() -> onlooker.describe("orders/7").waitersTotal() == 1);
        product.kill9();
        product.restart();
        Scene.eventually()
                .until(() -> onlooker.operations().history("orders/7").stream()
                        .anyMatch(entry -> entry.what().equals("RECLAIMED")));
        assertThat(held.loss()).isNotDone();
        assertThat(b).as("not granted meanwhile").isNotDone();
        held.lease().close();
        assertThat(Scene.await(b).token()).isGreaterThan(held.token());
    }
}
