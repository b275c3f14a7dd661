package dev.palisade.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.linecorp.armeria.client.ClientRequestContextCaptor;
import com.linecorp.armeria.client.Clients;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.util.EventLoopGroups;
import dev.palisade.gateway.GatewayConfig.Upstream;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Connections to the service. */
class UpstreamPoolTest {
    /** Else flow control can lose a wake-up, and {@link BackPressureTest} hangs in some of its runs. */
    @Test
    void bothSidesOfAnExchangeAreOnOneEventLoop() {
        EventLoopGroup loops = EventLoopGroups.builder()
                .numThreads(6)
                .gracefulShutdown(Duration.ZERO, Duration.ofSeconds(1))
                .build();
        try (PlainService service = new PlainService();
                UpstreamPool pool = new UpstreamPool(
                        new Upstream(List.of(service.address()), false, null, Duration.ofSeconds(30)), null, loops)) {
            for (EventExecutor loop : loops) {
                EventLoop used =
                        CompletableFuture.supplyAsync(() -> send(pool), loop).join();
                assertThat(used).isSameAs(loop);
            }
            await().atMost(Duration.ofMinutes(1)).until(() -> service.begun.size() == 6);
        }
    }

    /** Sends a request; returns the event loop of its connection. */
    private static EventLoop send(UpstreamPool pool) {
        try (ClientRequestContextCaptor captor = Clients.newContextCaptor()) {
            var unused =
                    pool.next().send(HttpRequest.of(HttpMethod.GET, "/items/1")).aggregate();
            return captor.get().eventLoop().withoutContext();
        }
    }
}
