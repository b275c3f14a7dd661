package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A client of two servers, on the test's thread: its connection to the one that its session is not with. */
class SpareConnectionsTest {
    private static final int SOON_MILLIS = 1_100;

    private final FakeTime time = new FakeTime();
    private final ScriptedServer first = new ScriptedServer();
    private final ScriptedServer second = new ScriptedServer();
    private final PalisadeClient client = client("first:1", "second:2");

    private PalisadeClient client(String... servers) {
        return PalisadeClient.builder()
                .servers(servers)
                .owner("test")
                .channelFactory(
                        address -> address.startsWith("first") ? first.channel(address) : second.channel(address))
                .time(time.clocks(), time)
                .callbackExecutor(Runnable::run)
                .build();
    }

    @AfterEach
    void closeAll() {
        time.stop();
        first.close();
        second.close();
    }

    @Test
    void afterATakeoverTheSessionIsOnAConnectionThatWasThereBefore() {
        time.advanceMillis(SOON_MILLIS);
        assertThat(second.connections).hasValue(1);
        assertThat(second.links).isEmpty();
        time.advanceMillis(120_000);
        first.link().breakOff();
        time.advanceMillis(10);
        assertThat(second.links).hasSize(1);
        assertThat(client.isConnected()).isTrue();
        assertThat(second.connections).hasValue(1);
    }

    @Test
    void whenTheSessionHasMovedTheServerBeforeIsTheSpareOne() {
        time.advanceMillis(SOON_MILLIS);
        first.link().breakOff();
        time.advanceMillis(6_000);
        assertThat(second.links).hasSize(1);
        int connections = first.connections.get();
        second.link().breakOff();
        time.advanceMillis(10);
        assertThat(first.links).hasSize(2);
        assertThat(first.connections).hasValue(connections);
    }

    @Test
    void aSpareConnectionThatIsFrozenIsReplaced() {
        time.advanceMillis(SOON_MILLIS);
        second.answersHealthChecks = false;
        time.advanceMillis(23_000);
        second.answersHealthChecks = true;
        time.advanceMillis(8_000);
        assertThat(second.connections.get()).isGreaterThan(1);
        int connections = second.connections.get();
        first.link().breakOff();
        time.advanceMillis(10);
        assertThat(second.connections).hasValue(connections);
    }

    @Test
    void oneThatDidNotAnswerIsNotUsed() {
        second.answersHealthChecks = false;
        time.advanceMillis(SOON_MILLIS + 2_100);
        int connections = second.connections.get();
        first.link().breakOff();
        time.advanceMillis(10);
        assertThat(second.links).hasSize(1);
        assertThat(second.connections).hasValue(connections + 1);
    }

    /** A silent loss of the connection is not reported, so an old check proves nothing. */
    @Test
    void oneThatAnsweredLongAgoIsNotUsed() {
        time.advanceMillis(SOON_MILLIS);
        time.passUnnoticedMillis(31_000); // The process was stopped.
        first.link().breakOff();
        time.advanceMillis(10);
        assertThat(second.links).hasSize(1);
        assertThat(second.connections).hasValue(2);
    }

    @Test
    void aClientThatEndsSoonHasNone() {
        time.advanceMillis(400);
        client.close();
        time.advanceMillis(60_000);
        assertThat(second.connections).hasValue(0);
    }

    @Test
    void whileThereIsNoSessionAttemptsHaveTheServersToThemselves() {
        second.welcoming = false;
        first.welcoming = false;
        first.link().breakOff();
        time.advanceMillis(20_000);
        assertThat(second.connections.get()).isEqualTo(second.links.size());
    }

    @Test
    void aClientOfOneServerChecksNone() {
        first.answersHealthChecks = false;
        try (PalisadeClient alone = client("first:1")) {
            int connections = first.connections.get();
            time.advanceMillis(60_000);
            assertThat(alone.isConnected()).isTrue();
            assertThat(first.connections).hasValue(connections);
        }
    }
}
