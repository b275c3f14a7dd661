package dev.palisade.faults;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.FakePalisade;
import dev.palisade.client.PalisadeClient;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.awaitility.Awaitility;

/** A lock service as a scenario uses it, real or fake: clients, faults, and time that passes until something is so. */
interface LockService extends AutoCloseable {
    /** What is locked. */
    String LOCK = "orders/42";

    /** How, unless something else is said. */
    AcquireOptions TRY = AcquireOptions.trying();

    PalisadeClient client(String owner);

    /** The client's connections break, and it gets no other. */
    void disconnect(PalisadeClient client);

    /** Kills the server and starts it on the same data. */
    void restart();

    /** Returns when {@code wanted} is so; fails after half a minute. */
    void until(Condition wanted) throws InterruptedException;

    /** Something that becomes so. */
    @FunctionalInterface
    interface Condition {
        boolean isSo() throws InterruptedException;
    }

    @Override
    void close();

    /** A server process and real time. */
    final class Real implements LockService {
        private final Installation installation = Installation.fresh();
        private final Map<PalisadeClient, Link> links = new HashMap<>();
        private Service server = installation.server();

        @Override
        public PalisadeClient client(String owner) {
            Link link = new Link(server.address(), Link.Deaths.TOLD);
            // A busy machine is slow to answer, and that is no difference to tell.
            PalisadeClient client = PalisadeClient.builder()
                    .servers(link.address())
                    .owner(owner)
                    .callTimeout(Duration.ofSeconds(15))
                    .build();
            links.put(client, link);
            return client;
        }

        @Override
        public void disconnect(PalisadeClient client) {
            Objects.requireNonNull(links.get(client)).close();
        }

        @Override
        public void restart() {
            server.child().kill();
            server = installation.server("--port", server.port());
        }

        @Override
        public void until(Condition wanted) {
            Awaitility.await()
                    .pollInterval(Duration.ofMillis(20))
                    .ignoreExceptions()
                    .until(wanted::isSo);
        }

        @Override
        public void close() {
            links.keySet().forEach(PalisadeClient::close);
            links.values().forEach(Link::close);
            server.child().kill();
            installation.close();
        }
    }

    /** The one that users test with. */
    final class Fake implements LockService {
        private final FakePalisade fake = FakePalisade.start();

        @Override
        public PalisadeClient client(String owner) {
            return fake.client(owner);
        }

        @Override
        public void disconnect(PalisadeClient client) {
            fake.disconnect(client);
        }

        @Override
        public void restart() {
            fake.stopServer();
            fake.startServer();
        }

        @Override
        public void until(Condition wanted) throws InterruptedException {
            for (int i = 0; i < 1_500 && !wanted.isSo(); i++) {
                fake.advance(Duration.ofMillis(20));
            }
            assertThat(wanted.isSo())
                    .as("after half a minute of the fake's time")
                    .isTrue();
        }

        @Override
        public void close() {
            fake.close();
        }
    }
}
