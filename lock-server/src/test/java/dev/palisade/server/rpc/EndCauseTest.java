package dev.palisade.server.rpc;

import static dev.palisade.server.rpc.Served.acquire;
import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.Hello;
import dev.palisade.proto.v1.HistoryEntry;
import dev.palisade.proto.v1.HistoryRequest;
import dev.palisade.server.core.EndCause;
import java.nio.file.Path;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each way in which a stream ends, and the cause that the history has of it once the grace is over. */
class EndCauseTest {
    @Test
    void abandonedLeaseHasTheCauseOfItsStreamsEnd(@TempDir Path directory) throws Exception {
        Map<Integer, EndCause> causes = Map.of(
                1, EndCause.CONNECTION_BROKE,
                2, EndCause.CLIENT_CLOSED,
                3, EndCause.STREAM_REFUSED,
                4, EndCause.NOT_RESUMED);
        try (Served served = new Served(directory)) {
            Served.Stream[] clients = new Served.Stream[5];
            for (int i = 1; i <= 4; i++) {
                clients[i] = served.stream(i, 1);
                clients[i].granted(acquire("lock " + i, 1, 0).setTtlMillis(300_000));
            }
            clients[1].breakOff();
            clients[2].out.onCompleted();
            clients[3].send(ClientFrame.newBuilder()
                    .setHello(Hello.newBuilder().setSessionId(Served.session(3)).setSessionGen(1)));
            served.stream(4, 2);
            causes.forEach((i, cause) -> {
                HistoryEntry ended = Awaitility.await()
                        .until(
                                () -> served.unary()
                                        .history(HistoryRequest.newBuilder()
                                                .setLock("lock " + i)
                                                .build())
                                        .getEntriesList(),
                                entries -> entries.size() == 2)
                        .get(1);
                assertThat(ended.getWhat()).isEqualTo("ABANDONED");
                assertThat(ended.getCause()).isEqualTo(cause.name());
                assertThat(ended.getDetail()).isEqualTo(cause.words());
                assertThat(served.events)
                        .anyMatch(line -> line.startsWith("event=session_abandoned")
                                && line.contains("\"client " + i + "\"")
                                && line.endsWith("cause=" + cause))
                        .anyMatch(line -> line.startsWith("event=lease_abandoned")
                                && line.contains("lock=\"lock " + i + "\"")
                                && line.contains("cause=" + cause));
            });
        }
    }

    @Test
    void leaseOfAnUntrustedClientEndsByTheNewAuthorities(@TempDir Path directory) throws Exception {
        try (Served served = new Served(directory)) {
            Served.Stream client = served.stream(1, 1);
            client.granted(acquire("x", 1, 0).setTtlMillis(300_000));
            served.rpc.authoritiesChanged();
            client.breakOff();
            HistoryEntry ended = Awaitility.await()
                    .until(
                            () -> served.unary()
                                    .history(HistoryRequest.newBuilder()
                                            .setLock("x")
                                            .build())
                                    .getEntriesList(),
                            entries -> entries.size() == 2)
                    .get(1);
            assertThat(ended.getCause()).isEqualTo(EndCause.AUTHORITIES_CHANGED.name());
        }
    }
}
