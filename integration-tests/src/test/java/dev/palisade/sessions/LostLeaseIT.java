package dev.palisade.sessions;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.AcquireResult;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.LostReason;
import dev.palisade.faults.Link;
import dev.palisade.scenario.Child;
import dev.palisade.sessions.Scene.Watched;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A holder that cannot be reached is told of its loss by its own clock, at the deadline and before anybody else is granted the
 * lock (requirement A9).
 */
class LostLeaseIT {
    private static final String LOCK = "job/1";
    private static final long TTL_MILLIS = 2_000;

    private final Scene scene = new Scene();

    @AfterEach
    void close() {
        scene.close();
    }

    /** From the sending of the newest keep-alive that was answered. */
    private static Duration promised(long ttlMillis) {
        Duration ttl = Duration.ofMillis(ttlMillis);
        return ttl.minus(ttl.dividedBy(1_000)).minusMillis(20);
    }

    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true"})
    @Execution(ExecutionMode.CONCURRENT)
    void aFrozenLinkIsALossAtTheLocalDeadlineAndOnlyThenTheNextOneIsGranted(boolean toServer, boolean toClient) {
        Relay relay = scene.relay();
        Watched held = Scene.take(scene.client("holder", relay.address()), LOCK, TTL_MILLIS);
        CompletableFuture<AcquireResult> wait = Scene.queue(scene.client("next", scene.address()), LOCK, TTL_MILLIS);
        Scene.eventually().until(() -> scene.waiting(LOCK).equals(List.of("next")));
        long before = relay.answeredSentNanos();
        Scene.eventually().until(() -> relay.answeredSentNanos() != before);

        relay.silence(toServer, toClient);
        Watched next = Scene.await(wait);
        Watched.Loss loss = held.awaitLoss();

        Duration believed = Duration.ofNanos(loss.atNanos() - relay.answeredSentNanos());
        System.out.println("frozen to server " + toServer + ", to client " + toClient + ": lost "
                + believed.toMillis() + " ms after the last answered keep-alive was sent, the next granted "
                + (next.gotNanos() - loss.atNanos()) / 1_000_000 + " ms later");
        assertThat(loss.reason()).isEqualTo(LostReason.SERVER_UNREACHABLE);
        assertThat(believed)
                .isBetween(promised(TTL_MILLIS), promised(TTL_MILLIS).plusMillis(300));
        assertThat(loss.atNanos()).isLessThan(next.gotNanos());
        assertThat(next.token()).isGreaterThan(held.token());
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aLinkThatTakesAlmostASecondEachWayKeepsTheLease() throws InterruptedException {
        Link link = scene.link();
        Watched held = Scene.take(scene.client("holder", link.address()), LOCK, 5_000);
        CompletableFuture<AcquireResult> wait = Scene.queue(scene.client("next", scene.address()), LOCK, 5_000);

        link.delay(Duration.ofMillis(900));

        Scene.eventually()
                .during(Duration.ofSeconds(11))
                .until(() -> held.lease().isValid() && !wait.isDone());
        assertThat(held.loss()).isNotDone();
        assertThat(scene.history(LOCK, "RESUMED")).as("streams that broke").isEmpty();
        link.delay(Duration.ZERO);
        held.lease().close();
        assertThat(Scene.await(wait).token()).isGreaterThan(held.token());
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aLinkThatIsFrozenForLessThanTheLeaseLastsLosesNothing() {
        Link link = scene.link();
        Watched held = Scene.take(scene.client("holder", link.address()), LOCK, 6_000);

        link.freeze(Link.Way.values());
        // The client notices after half the ttl, and goes on trying.
        Scene.eventually().until(() -> held.lease().validFor().compareTo(Duration.ofMillis(1_500)) < 0);
        link.thaw();

        Scene.eventually().until(() -> held.lease().validFor().compareTo(Duration.ofSeconds(4)) > 0);
        Scene.eventually()
                .during(Duration.ofSeconds(2))
                .until(() -> held.lease().isValid());
        assertThat(held.loss()).isNotDone();
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aProcessThatWasStoppedForLongerThanItsLeaseKnowsItByItsFirstLook() {
        Child stopped = scene.tenant("stopped", scene.address(), Map.of());
        stopped.send("take " + LOCK + " " + TTL_MILLIS + " 10000");
        long token = number(stopped.await(line -> line.startsWith("granted ")), 2);
        PalisadeClient other = scene.client("next", scene.address());
        CompletableFuture<AcquireResult> wait = Scene.queue(other, LOCK, TTL_MILLIS);
        Scene.eventually().until(() -> scene.waiting(LOCK).size() == 1);

        stopped.pause();
        Watched next = Scene.await(wait);
        long continued = System.nanoTime();
        stopped.resume();

        List<String> said = new ArrayList<>();
        while (!said.toString().contains("lost ") || !said.toString().contains("woke ")) {
            said.add(stopped.await(line -> true));
        }
        assertThat(said).contains("looked " + LOCK + " false");
        String lost =
                said.stream().filter(line -> line.startsWith("lost ")).findAny().orElseThrow();
        // By its own clock, or by the server's word that lay in its socket: whichever of its threads comes first.
        assertThat(lost).matches("lost " + LOCK + " (SERVER_UNREACHABLE|EXPIRED) .*");
        assertThat(Duration.ofNanos(number(lost, 3) - continued)).isLessThan(Scene.SLACK);
        assertThat(next.token()).isGreaterThan(token);
        assertThat(next.lease().isValid()).isTrue();
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aServerThatWasStoppedForLongerThanTheLeaseGrantsNobodyTwice() {
        PalisadeClient holder = scene.client("holder", scene.address());
        Watched held = Scene.take(holder, LOCK, TTL_MILLIS);
        CompletableFuture<AcquireResult> wait = Scene.queue(scene.client("next", scene.address()), LOCK, TTL_MILLIS);
        Scene.eventually().until(() -> scene.waiting(LOCK).size() == 1);

        scene.server().pause();
        Watched.Loss loss = held.awaitLoss();
        // Longer than every timeout of a client, so that streams are given up and opened meanwhile.
        Scene.eventually().pollDelay(Duration.ofSeconds(4)).until(() -> true);
        CompletableFuture<AcquireResult> again = Scene.queue(holder, LOCK, TTL_MILLIS);
        scene.server().resume();

        Watched next = Scene.await(wait);
        assertThat(loss.reason()).isEqualTo(LostReason.SERVER_UNREACHABLE);
        assertThat(loss.atNanos()).isLessThan(next.gotNanos());
        assertThat(next.token()).isGreaterThan(held.token());
        assertThat(again).as("granted while the next one holds").isNotDone();
        long released = System.nanoTime();
        next.lease().close();
        Watched last = Scene.await(again);
        assertThat(last.token()).isGreaterThan(next.token());
        assertThat(last.gotNanos()).isGreaterThan(released);
        assertThat(next.loss()).isNotDone();
    }

    private static long number(String line, int word) {
        return Long.parseLong(line.split(" ", -1)[word]);
    }
}
