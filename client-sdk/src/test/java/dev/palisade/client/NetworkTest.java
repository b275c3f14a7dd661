package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.LostReason;
import dev.palisade.proto.v1.Call;
import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Over real connections: what the in-process transport cannot show. */
@Timeout(120)
class NetworkTest {
    private final ScriptedServer script = new ScriptedServer();
    private Server server = serve(0);

    @BeforeEach
    void startsOnAPortOfItsOwn() {
        assertThat(server.getPort()).isPositive();
    }

    @AfterEach
    void close() {
        server.shutdownNow();
        script.close();
    }

    @Test
    void aLeaseOutlivesAFrozenLinkOnAFreshConnection() throws IOException, InterruptedException {
        try (FreezableProxy proxy = new FreezableProxy(server.getPort());
                PalisadeClient client = client("127.0.0.1:" + proxy.port())) {
            Lease lease = client.acquire("orders/42");
            List<LostReason> lost = new CopyOnWriteArrayList<>();
            lease.onLost(lost::add);
            proxy.freezeAll();
            await().until(() -> script.links.size() == 2);
            await().until(() -> !script.link().calls(Call.CallCase.RESUME).isEmpty());
            long before = script.link().keepAlives();
            await().until(() -> script.link().keepAlives() >= before + 3);
            assertThat(lost).isEmpty();
            assertThat(lease.isValid()).isTrue();
        }
    }

    @Test
    void aLeaseIsLostAtItsDeadlineWhenEveryLinkIsFrozen() throws IOException, InterruptedException {
        try (FreezableProxy proxy = new FreezableProxy(server.getPort());
                PalisadeClient client = client("127.0.0.1:" + proxy.port())) {
            Lease lease = client.acquire("orders/42");
            List<LostReason> lost = new CopyOnWriteArrayList<>();
            lease.onLost(lost::add);
            script.welcoming = false;
            proxy.freezeAll();
            await().until(() -> !lost.isEmpty());
            assertThat(lost).containsExactly(LostReason.SERVER_UNREACHABLE);
        }
    }

    @Test
    void theClientIsBackSoonAfterTheServer() throws InterruptedException {
        try (PalisadeClient client = client("127.0.0.1:" + server.getPort())) {
            client.acquire("orders/42").close();
            int port = server.getPort();
            server.shutdownNow();
            await().until(server::isTerminated);
            // Long enough for every backoff to have grown.
            long start = System.nanoTime();
            await().until(() -> System.nanoTime() - start > 2_000_000_000L);
            server = serve(port);
            await().atMost(Duration.ofSeconds(3)).until(() -> script.links.size() == 2);
            client.acquire("orders/42").close();
        }
    }

    @Test
    void theNextAddressIsTriedWhenTheFirstIsDead() throws InterruptedException {
        try (PalisadeClient client = client("127.0.0.1:1,127.0.0.1:" + server.getPort())) {
            assertThat(client.tryAcquire("orders/42")).isInstanceOf(AcquireResult.Granted.class);
        }
    }

    @Test
    void closedClientLeavesNoThreadAndItsCallsEnd() throws InterruptedException {
        Set<Thread> before = threads();
        PalisadeClient client = client("127.0.0.1:" + server.getPort());
        Lease lease = client.acquire("orders/42");
        Set<Thread> itsOwn = threads();
        itsOwn.removeAll(before);
        assertThat(itsOwn).isNotEmpty();
        client.close();
        await().until(() -> itsOwn.stream().noneMatch(Thread::isAlive));
        assertThat(lease.isValid()).isFalse();
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(lease.releaseAsync().join()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThatThrownBy(() -> client.tryAcquire("orders/43")).isInstanceOf(IllegalStateException.class);
        client.close();
    }

    private static Set<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("palisade"))
                .collect(Collectors.toSet());
    }

    private static PalisadeClient client(String addresses) {
        return PalisadeClient.builder()
                .servers(addresses.split(","))
                .ttl(Duration.ofSeconds(3))
                .callTimeout(Duration.ofSeconds(2))
                .build();
    }

    private Server serve(int port) {
        try {
            return NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                    .directExecutor()
                    .addService(script)
                    .build()
                    .start();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
