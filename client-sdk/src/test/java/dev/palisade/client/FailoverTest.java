package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Call.CallCase;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.ServerFrame;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A client with two servers of one store, on the test's thread. */
class FailoverTest {
    private static final AcquireOptions WAIT_MINUTE = Fixture.WAIT_MINUTE;

    private final FakeTime time = new FakeTime();
    private final ScriptedServer first = new ScriptedServer();
    private final ScriptedServer second = new ScriptedServer();
    private final PalisadeClient client = PalisadeClient.builder()
            .servers("first:1", "second:2")
            .owner("test")
            .callTimeout(Duration.ofSeconds(5))
            .channelFactory(address -> address.startsWith("first") ? first.channel(address) : second.channel(address))
            .time(time.clocks(), time)
            .callbackExecutor(Runnable::run)
            .build();

    @AfterEach
    void closeAll() {
        time.stop();
        first.close();
        second.close();
    }

    @Test
    void leasesAndWaitsMoveToTheOtherServerWhenTheirsDies() {
        Lease lease = Fixture.leaseOf(client.acquireAsync("held", Fixture.TRY));
        first.script = first::queueAll;
        second.script = second::queueAll;
        CompletableFuture<AcquireResult> wait = client.acquireAsync("wanted", WAIT_MINUTE);
        long asked = first.link().last(CallCase.ACQUIRE).getAcquire().getRequestId();
        first.link().breakOff();
        time.advanceMillis(50);
        var hello = second.link().frames.get(0).getHello();
        assertThat(hello.getSessionGen()).isEqualTo(2);
        assertThat(hello.getSessionId())
                .isEqualTo(first.links.get(0).frames.get(0).getHello().getSessionId());
        Call resume = second.link().last(CallCase.RESUME);
        assertThat(resume.getResume().getToken()).isEqualTo(lease.token().value());
        assertThat(resume.getResume().getSequencer()).isNotEmpty();
        assertThat(lease.validFor()).isGreaterThan(Duration.ofMillis(8_900));
        assertThat(second.link().last(CallCase.ACQUIRE).getAcquire().getRequestId())
                .isEqualTo(asked);
        Granted granted = second.grant("wanted");
        second.link().offer(asked, granted, 2_000, second.link().newestSentNanos());
        assertThat(Fixture.leaseOf(wait).token().value()).isEqualTo(granted.getToken());
    }

    /** The stream ends so that a lease which was lost here is renewed no more; with the server nothing is wrong. */
    @Test
    void clientThatReplacesItsStreamStaysWithTheServer() {
        Lease lease = Fixture.leaseOf(client.acquireAsync("held", Fixture.TRY));
        time.passUnnoticedMillis(9_000);
        assertThat(lease.isValid()).isFalse();
        time.advanceMillis(100);
        assertThat(first.links).hasSize(2);
        assertThat(second.links).isEmpty();
    }

    @Test
    void aServerThatWelcomesAndAnswersNothingIsLeftWhenALeaseEnds() {
        Lease lease = Fixture.leaseOf(client.acquireAsync("held", Fixture.TRY));
        second.fallSilent();
        first.link().breakOff();
        time.passUnnoticedMillis(6_000);
        time.advanceMillis(100);
        assertThat(second.links).hasSize(1);
        time.advanceMillis(3_000);
        assertThat(lease.isValid()).isFalse();
        time.advanceMillis(100);
        assertThat(second.links).hasSize(1);
        assertThat(first.links).hasSize(2);
    }

    @Test
    void aServerThatIsFrozenWhileALeaseIsHeldIsLeftBeforeTheLeaseEnds() {
        Lease lease = Fixture.leaseOf(client.acquireAsync("held", Fixture.TRY));
        freeze(first);
        time.advanceMillis(7_600); // A keep-alive after a third of 9 s, unanswered for half of them.
        assertThat(second.links).hasSize(1);
        assertThat(lease.validFor()).isGreaterThan(Duration.ofMillis(8_800));
    }

    @Test
    void aServerThatIsFrozenWhileALockIsWaitedForIsLeftWithinTheCallTimeout() {
        first.script = first::queueAll;
        second.script = second::queueAll;
        CompletableFuture<AcquireResult> wait = client.acquireAsync("wanted", WAIT_MINUTE);
        freeze(first);
        time.advanceMillis(5_600); // A keep-alive each 500 ms, unanswered for 5 s.
        assertThat(second.links).hasSize(1);
        assertThat(second.link().calls(CallCase.ACQUIRE)).hasSize(1);
        assertThat(wait).isNotDone();
    }

    @Test
    void aServerThatTakesAConnectionAndNothingElseIsLeftAfterTwoConnectTimeouts() {
        Lease lease = Fixture.leaseOf(client.acquireAsync("held", Fixture.TRY));
        second.welcoming = false;
        second.script = call -> null;
        first.link().breakOff();
        time.advanceMillis(50);
        assertThat(second.links).hasSize(1);
        time.advanceMillis(3_900);
        assertThat(first.links).hasSize(1);
        time.advanceMillis(200);
        assertThat(first.links).hasSize(2);
        assertThat(lease.validFor()).isGreaterThan(Duration.ofMillis(8_800));
    }

    @Test
    void aServerThatIsAboutToTakeOverIsWaitedForWhileItSaysSo() {
        Lease lease = Fixture.leaseOf(client.acquireAsync("held", Fixture.TRY));
        second.welcoming = false;
        first.link().breakOff();
        time.advanceMillis(50);
        assertThat(second.link().frames.get(0).getHello().getPatienceMillis()).isEqualTo(4_000);
        for (int i = 0; i < 8; i++) {
            second.link().push(ServerFrame.newBuilder());
            time.advanceMillis(1_000);
        }
        assertThat(first.links).hasSize(1);
        second.welcoming = true;
        second.link().welcome();
        assertThat(second.link().calls(CallCase.RESUME)).hasSize(1);
        assertThat(lease.isValid()).isTrue();
    }

    @Test
    void aServerThatIsAboutToTakeOverForTooLongIsLeft() {
        var unused = Fixture.leaseOf(client.acquireAsync("held", Fixture.TRY));
        second.welcoming = false;
        first.link().breakOff();
        time.advanceMillis(50);
        for (int i = 0; i < 17; i++) {
            second.links.get(0).push(ServerFrame.newBuilder());
            time.advanceMillis(1_000);
        }
        assertThat(first.links).hasSize(2);
    }

    @Test
    void aServerThatFallsSilentWhileItTakesOverIsLeft() {
        var unused = Fixture.leaseOf(client.acquireAsync("held", Fixture.TRY));
        second.welcoming = false;
        first.link().breakOff();
        time.advanceMillis(1_900);
        second.link().push(ServerFrame.newBuilder());
        time.advanceMillis(3_900);
        assertThat(first.links).hasSize(1);
        time.advanceMillis(200);
        assertThat(first.links).hasSize(2);
    }

    /** With many leases it would never come to an end. */
    @Test
    void anAttemptGoesOnWhenLeasesAreLostMeanwhile() {
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            leases.add(Fixture.leaseOf(client.acquireAsync("held" + i, Fixture.TRY)));
            time.advanceMillis(100);
        }
        first.welcoming = false;
        second.welcoming = false;
        first.link().breakOff();
        time.advanceMillis(10_100);
        assertThat(leases).noneMatch(Lease::isValid);
        assertThat(first.links).hasSize(2);
        assertThat(second.links).hasSize(2);
    }

    /** It is as if the other had been the only one: keep-alives unanswered, calls refused. */
    @Test
    void aServerThatCannotReachTheStoreIsLeftWhileALeaseIsHeld() {
        Lease lease = Fixture.leaseOf(client.acquireAsync("held", Fixture.TRY));
        first.answersKeepAlives = false;
        first.script = call -> ScriptedServer.rejected("STORE_UNAVAILABLE");
        time.advanceMillis(7_600);
        assertThat(second.links).hasSize(1);
        assertThat(lease.validFor()).isGreaterThan(Duration.ofMillis(8_800));
    }

    @Test
    void anAcquireThatWaitsFindsTheServerThatCanReachTheStore() {
        first.script = call -> ScriptedServer.rejected("STORE_UNAVAILABLE");
        CompletableFuture<AcquireResult> wait = client.acquireAsync("wanted", WAIT_MINUTE);
        time.advanceMillis(4_000);
        assertThat(second.links).hasSize(1);
        assertThat(Fixture.leaseOf(wait).isValid()).isTrue();
    }

    private static Rejection standby(String active) {
        return new Rejection(Reason.NOT_ACTIVE, "scripted", Map.of(Rejection.ACTIVE, active));
    }

    @Test
    void aStandbyIsLeftAtOnceForTheServerThatItNames() {
        try (ScriptedServer third = new ScriptedServer()) {
            FakeTime own = new FakeTime();
            first.refusal = standby("third:3");
            PalisadeClient of3 = PalisadeClient.builder()
                    .servers("first:1", "second:2", "third:3")
                    .channelFactory(address -> switch (address) {
                        case "first:1" -> first.channel(address);
                        case "second:2" -> second.channel(address);
                        default -> third.channel(address);
                    })
                    .time(own.clocks(), own)
                    .callbackExecutor(Runnable::run)
                    .build();
            CompletableFuture<AcquireResult> asked = of3.acquireAsync("wanted", Fixture.TRY);
            own.advanceMillis(1);
            assertThat(Fixture.leaseOf(asked).isValid()).isTrue();
            assertThat(second.links).isEmpty();
            assertThat(third.links).hasSize(1);
            own.stop();
        }
    }

    /** A false server at one address could otherwise make the client send its credentials anywhere. */
    @Test
    void anAddressThatTheClientWasNotGivenIsNotTried() {
        first.refusal = standby("elsewhere:1");
        first.link().fail(Rejections.toStatus(standby("elsewhere:1")));
        time.advanceMillis(1);
        assertThat(second.links).hasSize(1);
        assertThat(Fixture.leaseOf(client.acquireAsync("wanted", Fixture.TRY)).isValid())
                .isTrue();
    }

    @Test
    void aServerThatWasDeposedIsLeftAtOnce() {
        Lease lease = Fixture.leaseOf(client.acquireAsync("held", Fixture.TRY));
        first.script = call -> ScriptedServer.rejected("NOT_ACTIVE");
        CompletableFuture<AcquireResult> asked = client.acquireAsync("wanted", WAIT_MINUTE);
        time.advanceMillis(50);
        assertThat(Fixture.leaseOf(asked).isValid()).isTrue();
        assertThat(second.link().calls(CallCase.RESUME)).hasSize(1);
        assertThat(lease.isValid()).isTrue();
    }

    @Test
    void whileNoServerIsActiveTheClientComesBackSoon() {
        Lease lease = Fixture.leaseOf(client.acquireAsync("held", Fixture.TRY));
        first.refusal = standby("second:2");
        second.refusal = standby("first:1");
        first.link().breakOff();
        time.advanceMillis(2_500);
        assertThat(first.links.size() + second.links.size()).isBetween(24, 80);
        second.refusal = null;
        time.advanceMillis(210);
        assertThat(second.link().calls(CallCase.RESUME)).hasSize(1);
        assertThat(lease.isValid()).isTrue();
    }

    /** Retries of thousands of clients delay a takeover. */
    @Test
    void standbyGetsItsPauseWhileTheOtherServerIsTried() {
        second.refusal = standby("first:1").with(Rejection.RETRY_AFTER_MILLIS, "900");
        first.refusal = new Rejection(Reason.DRAINING, "scripted", Map.of());
        first.link().breakOff();
        time.advanceMillis(890);
        assertThat(second.links).hasSize(1);
        assertThat(first.links).as("at once, after 250 and after 750 ms").hasSize(4);
        second.refusal = null;
        time.advanceMillis(20);
        assertThat(Fixture.leaseOf(client.acquireAsync("wanted", Fixture.TRY)).isValid())
                .isTrue();
        assertThat(second.links).hasSize(2);
    }

    @Test
    void firstServerWhosePauseEndsIsTriedWhenAllPause() {
        second.refusal = standby("").with(Rejection.RETRY_AFTER_MILLIS, "900");
        first.refusal = standby("").with(Rejection.RETRY_AFTER_MILLIS, "400");
        first.link().breakOff();
        time.advanceMillis(350);
        assertThat(first.links).hasSize(2);
        assertThat(second.links).hasSize(1);
        first.refusal = null;
        time.advanceMillis(100);
        assertThat(first.links).hasSize(3);
    }

    @Test
    void whatAnotherServerSaysOfAStandbyEndsItsPause() {
        second.refusal = standby("first:1").with(Rejection.RETRY_AFTER_MILLIS, "2000");
        first.refusal = standby("second:2");
        first.link().breakOff();
        time.advanceMillis(20);
        second.refusal = null; // It took over.
        time.advanceMillis(200);
        assertThat(Fixture.leaseOf(client.acquireAsync("wanted", Fixture.TRY)).isValid())
                .isTrue();
    }

    /** One false server could otherwise keep the client for itself. */
    @Test
    void aServerThatNamesItselfIsNotPreferred() {
        first.refusal = standby("first:1");
        first.link().fail(Rejections.toStatus(standby("first:1")));
        time.advanceMillis(1);
        assertThat(second.links).hasSize(1);
        assertThat(Fixture.leaseOf(client.acquireAsync("wanted", Fixture.TRY)).isValid())
                .isTrue();
    }

    @Test
    void anOnlyServerThatCannotReachTheStoreIsKept() {
        PalisadeClient alone = PalisadeClient.builder()
                .servers("first:1")
                .channelFactory(first::channel)
                .time(time.clocks(), time)
                .callbackExecutor(Runnable::run)
                .build();
        first.script = call -> ScriptedServer.rejected("SUSPECT_PRIMARY");
        CompletableFuture<AcquireResult> wait = alone.acquireAsync("wanted", WAIT_MINUTE);
        int links = first.links.size();
        time.advanceMillis(20_000);
        assertThat(first.links).hasSize(links);
        first.script = first::grantAll;
        time.advanceMillis(1_100);
        assertThat(Fixture.leaseOf(wait).isValid()).isTrue();
    }

    @Test
    void aServerThatRefusesNowAndThenIsKept() {
        List<Call> acquires = new ArrayList<>();
        first.script = call -> {
            if (!call.hasAcquire()) {
                return first.grantAll(call);
            }
            acquires.add(call);
            return acquires.size() % 2 == 0 ? first.grantAll(call) : ScriptedServer.rejected("STORE_UNAVAILABLE");
        };
        for (int i = 0; i < 20; i++) {
            var unused = client.acquireAsync("lock" + i, WAIT_MINUTE);
            time.advanceMillis(1_000);
        }
        assertThat(acquires).hasSize(40);
        assertThat(second.links).isEmpty();
    }

    @Test
    void aStoreThatIsRecoveringIsNoReasonToLeaveAServer() {
        first.script = call -> call.hasAcquire() ? ScriptedServer.rejected("RECOVERING") : first.grantAll(call);
        var unused = client.acquireAsync("wanted", WAIT_MINUTE);
        time.advanceMillis(20_000);
        assertThat(second.links).isEmpty();
    }

    private static void freeze(ScriptedServer server) {
        server.answersKeepAlives = false;
        server.script = call -> null;
    }
}
