package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A client on the test's thread: its connections beside that of its session. */
class SpareConnectionsTest {
    private static final int SOON_MILLIS = 1_100;

    private final FakeTime time = new FakeTime();
    private final ScriptedServer first = new ScriptedServer();
    private final ScriptedServer second = new ScriptedServer();
    private final ScriptedServer third = new ScriptedServer();
    private final PalisadeClient client = client("first:1", "second:2");

    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final Logger logger = Logger.getLogger(ActiveServersCheck.class.getName());
    private final Handler recorder = new Handler() {
        @Override
        public void publish(LogRecord line) {
            lines.add(line.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    @BeforeEach
    void record() {
        logger.addHandler(recorder);
    }

    private ScriptedServer server(String address) {
        return address.startsWith("first") ? first : address.startsWith("second") ? second : third;
    }

    private PalisadeClient client(String... servers) {
        return client(this::server, servers);
    }

    private PalisadeClient client(Function<String, ScriptedServer> led, String... servers) {
        return PalisadeClient.builder()
                .servers(servers)
                .owner("test")
                .channelFactory(address -> led.apply(address).channel(address))
                .probes()
                .time(time.clocks(), time)
                .callbackExecutor(Runnable::run)
                .build();
    }

    @AfterEach
    void closeAll() {
        logger.removeHandler(recorder);
        time.stop();
        first.close();
        second.close();
        third.close();
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
    void aSingleServerIsCheckedLessAndLessOften() {
        client.close();
        first.active = true;
        int before = first.connections.get();
        try (PalisadeClient alone = client("first:1")) {
            time.advanceMillis(9_000);
            assertThat(first.connections).as("that of the session").hasValue(before + 1);
            time.advanceMillis(4 * 3_600_000L);
            assertThat(alone.isConnected()).isTrue();
            assertThat(first.connections.get()).isEqualTo(before + 1 + first.healthChecks.get());
            assertThat(first.healthChecks.get()).isBetween(8, 20);
        }
        assertThat(lines).isEmpty();
    }

    @Test
    void twoActiveServersBehindOneAddressAreReportedOnce() {
        client.close();
        first.active = true;
        second.active = true;
        Deque<ScriptedServer> led = new ArrayDeque<>(List.of(first, second));
        try (PalisadeClient balanced = client(address -> led.remove(), "balancer:1")) {
            time.advanceMillis(20_000);
            assertThat(second.healthChecks).hasValue(1);
            assertThat(lines).as("a takeover may be under way").isEmpty();
            time.advanceMillis(4 * 3_600_000L);
            assertThat(balanced.isConnected()).isTrue();
        }
        assertThat(lines)
                .singleElement()
                .asString()
                .startsWith("two lock servers behind balancer:1 are both active and share no locks");
    }

    @Test
    void aCheckThatMeetsTheServerOfTheSessionProvesNothing() {
        client.close();
        first.active = true;
        second.active = true;
        String other = second.identity;
        Deque<ScriptedServer> led = new ArrayDeque<>(List.of(first, second));
        try (PalisadeClient balanced = client(address -> led.remove(), "balancer:1")) {
            awaitNextCheck();
            second.identity = first.identity;
            awaitNextCheck();
            second.identity = other;
            awaitNextCheck();
            assertThat(balanced.isConnected()).isTrue();
        }
        assertThat(lines).hasSize(1);
    }

    @Test
    void aWarningIsNotRepeatedWhenTheSessionIsWithTheOtherServer() {
        client.close();
        first.active = true;
        second.active = true;
        Deque<ScriptedServer> led = new ArrayDeque<>(List.of(first, second));
        try (PalisadeClient balanced = client(address -> led.remove(), "balancer:1")) {
            time.advanceMillis(3_600_000);
            String other = second.identity;
            second.identity = first.identity;
            first.identity = other;
            time.advanceMillis(4 * 3_600_000L);
            assertThat(balanced.isConnected()).isTrue();
        }
        assertThat(lines).hasSize(1);
    }

    @Test
    void aStandbyBehindTheSameAddressIsNotReported() {
        client.close();
        first.active = true;
        Deque<ScriptedServer> led = new ArrayDeque<>(List.of(first, second));
        try (PalisadeClient balanced = client(address -> led.remove(), "balancer:1")) {
            time.advanceMillis(3_600_000);
            assertThat(balanced.isConnected()).isTrue();
        }
        assertThat(second.healthChecks.get()).isPositive();
        assertThat(lines).isEmpty();
    }

    @Test
    void twoActiveServersAreReportedOnce() {
        first.active = true;
        second.active = true;
        time.advanceMillis(SOON_MILLIS);
        assertThat(lines).as("a takeover may be under way").isEmpty();
        time.advanceMillis(60_000);
        assertThat(lines)
                .singleElement()
                .asString()
                .startsWith("lock servers first:1 and second:2 are both active and share no locks");
    }

    @Test
    void oneServerWithTwoAddressesIsNotReported() {
        second.active = true;
        second.identity = first.identity;
        time.advanceMillis(120_000);
        assertThat(lines).isEmpty();
    }

    @Test
    void aServerThatIsDeposedMeanwhileIsNotReported() {
        second.active = true;
        time.advanceMillis(SOON_MILLIS);
        first.up = false;
        time.advanceMillis(120_000);
        assertThat(lines).isEmpty();
    }

    @Test
    void eachOfSeveralActiveServersIsReportedOnce() {
        first.active = true;
        second.active = true;
        third.active = true;
        try (PalisadeClient ofThree = client("first:1", "second:2", "third:3")) {
            time.advanceMillis(1_000_000);
            assertThat(ofThree.isConnected()).isTrue();
        }
        assertThat(lines)
                .filteredOn(line -> line.contains("third:3"))
                .singleElement()
                .asString()
                .startsWith("lock servers first:1 and third:3 are both active");
    }

    @Test
    void aServerThatIsActiveOnlyNowAndThenIsNotReported() {
        for (int i = 0; i < 4; i++) {
            second.active = true;
            awaitNextCheck();
            second.active = false;
            awaitNextCheck();
        }
        assertThat(lines).isEmpty();
    }

    private void awaitNextCheck() {
        int before = second.healthChecks.get();
        while (second.healthChecks.get() == before) {
            time.advanceMillis(100);
        }
    }

    @Test
    void aStandbyIsNotReported() {
        time.advanceMillis(120_000);
        assertThat(lines).isEmpty();
    }
}
