package dev.palisade.sessions;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.AcquireResult;
import dev.palisade.client.Operations;
import dev.palisade.client.PalisadeClient;
import dev.palisade.client.ReleaseOutcome;
import dev.palisade.contract.LeaseLostException;
import dev.palisade.contract.LockUnavailableException;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.sessions.Relay.Fate;
import dev.palisade.sessions.Scene.Watched;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Every kind of reply is lost once, with its stream cut or frozen: nobody is granted twice, nothing stays behind, and the
 * client's answer is right (requirement A12).
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LostRepliesIT {
    private static final long TTL_MILLIS = 2_000;
    private static final Predicate<ServerFrame> WELCOME = ServerFrame::hasWelcome;

    private final Scene scene = new Scene();
    private final PalisadeClient other = scene.client("other", scene.address());

    @AfterAll
    void close() {
        scene.close();
    }

    private static Predicate<ServerFrame> reply(Predicate<Reply> kind) {
        return frame -> frame.getRepliesList().stream().anyMatch(kind);
    }

    /** Connected; patient with a call, as a caller that has a second to spare. */
    private PalisadeClient client(Relay relay) {
        PalisadeClient client =
                scene.client("client", relay.address(), builder -> builder.callTimeout(Duration.ofMillis(1_500)));
        Scene.eventually().until(() -> client.describe("warm").holders().isEmpty());
        return client;
    }

    /** One grant, whose end is recorded as {@code ends}; the lock is free. */
    private void assertGrantedOnce(String lock, Watched held, String ended) throws InterruptedException {
        List<Operations.HistoryEntry> past = scene.operations().history(lock);
        Set<Object> grants = new HashSet<>();
        for (Operations.HistoryEntry entry : past) {
            if (entry.owner().equals("client")
                    && (entry.what().equals("GRANTED") || entry.what().equals("ACCEPTED"))) {
                assertThat(grants.add(entry.grant()))
                        .as("granted twice: " + past)
                        .isTrue();
            }
        }
        assertThat(grants).as(past.toString()).containsExactly(held.lease().grant());
        assertThat(past.get(past.size() - 1).what()).isEqualTo(ended);
        assertThat(past.get(past.size() - 1).token().orElseThrow().value()).isEqualTo(held.token());
    }

    private void assertNothingIsLeft(String lock) {
        Scene.eventually().until(() -> scene.operations().list(lock).findAny().isEmpty());
    }

    private void assertKept(Watched held) {
        Scene.eventually()
                .during(Duration.ofMillis(TTL_MILLIS + 500))
                .until(() -> held.lease().isValid());
        assertThat(held.loss()).isNotDone();
    }

    @ParameterizedTest
    @EnumSource
    @Execution(ExecutionMode.CONCURRENT)
    void aLostWelcomeIsWaitedForOnTheNextStream(Fate fate) throws InterruptedException {
        Relay relay = scene.relay();
        String lock = "welcome/" + fate;
        relay.loseNext(WELCOME, fate);
        PalisadeClient client = client(relay);
        Scene.eventually().until(relay::hasLost);

        Watched held = Scene.await(Scene.queue(client, lock, TTL_MILLIS));
        assertThat(held.lease().release()).isEqualTo(ReleaseOutcome.RELEASED);

        assertGrantedOnce(lock, held, "RELEASED");
        assertNothingIsLeft(lock);
    }

    @ParameterizedTest
    @EnumSource
    @Execution(ExecutionMode.CONCURRENT)
    void aLostGrantIsResumed(Fate fate) throws InterruptedException {
        Relay relay = scene.relay();
        String lock = "granted/" + fate;
        PalisadeClient client = client(relay);
        relay.loseNext(reply(r -> r.hasAcquire() && r.getAcquire().hasGranted()), fate);

        Watched held = Scene.await(Scene.queue(client, lock, TTL_MILLIS));

        assertThat(relay.hasLost()).isTrue();
        assertKept(held);
        assertThat(held.lease().release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertGrantedOnce(lock, held, "RELEASED");
        assertNothingIsLeft(lock);
    }

    @ParameterizedTest
    @EnumSource
    @Execution(ExecutionMode.CONCURRENT)
    void aTryWhoseGrantIsLostIsGrantedOrGivesItBack(Fate fate) throws InterruptedException {
        Relay relay = scene.relay();
        String lock = "tried/" + fate;
        PalisadeClient client = client(relay);
        relay.loseNext(reply(r -> r.hasAcquire() && r.getAcquire().hasGranted()), fate);

        AcquireResult result = client.tryAcquire(lock, Scene.options(TTL_MILLIS, 0));

        assertThat(relay.hasLost()).isTrue();
        if (fate == Fate.CUT) {
            Scene.leaseOf(result).close();
        } else {
            assertThat(result).isInstanceOf(AcquireResult.Unavailable.class);
        }
        assertNothingIsLeft(lock);
        assertThat(scene.history(lock, "GRANTED")).hasSize(1);
    }

    @ParameterizedTest
    @EnumSource
    @Execution(ExecutionMode.CONCURRENT)
    void aLostPlaceInTheQueueIsTakenAgain(Fate fate) throws InterruptedException {
        Relay relay = scene.relay();
        String lock = "queued/" + fate;
        PalisadeClient client = client(relay);
        Watched before = Scene.take(other, lock, 30_000);
        relay.loseNext(reply(r -> r.hasAcquire() && r.getAcquire().hasQueued()), fate);
        CompletableFuture<AcquireResult> wait = Scene.queue(client, lock, TTL_MILLIS);
        Scene.eventually().until(relay::hasLost);
        CompletableFuture<AcquireResult> behind = Scene.queue(other, lock, TTL_MILLIS);
        Scene.eventually().until(() -> scene.waiting(lock).size() == 2);

        before.lease().close();
        Watched held = Scene.await(wait);

        assertThat(behind).as("it came later").isNotDone();
        assertKept(held);
        held.lease().close();
        Scene.await(behind).lease().close();
        assertThat(scene.history(lock, "QUEUED")).hasSize(2);
        assertNothingIsLeft(lock);
    }

    @ParameterizedTest
    @EnumSource
    @Execution(ExecutionMode.CONCURRENT)
    void aLostBusyIsSaidAgainOrIsUnknown(Fate fate) throws InterruptedException {
        Relay relay = scene.relay();
        String lock = "busy/" + fate;
        PalisadeClient client = client(relay);
        Watched before = Scene.take(other, lock, 30_000);
        relay.loseNext(reply(r -> r.hasAcquire() && r.getAcquire().hasBusy()), fate);

        AcquireResult result = client.tryAcquire(lock, Scene.options(TTL_MILLIS, 0));

        assertThat(relay.hasLost()).isTrue();
        assertThat(result).isInstanceOf(fate == Fate.CUT ? AcquireResult.Busy.class : AcquireResult.Unavailable.class);
        before.lease().close();
        assertNothingIsLeft(lock);
        assertThat(scene.history(lock, "GRANTED")).hasSize(1);
    }

    @ParameterizedTest
    @EnumSource
    @Execution(ExecutionMode.CONCURRENT)
    void aLostOfferIsMadeAgainOrFoundByAskingAgain(Fate fate) throws InterruptedException {
        Relay relay = scene.relay();
        String lock = "offered/" + fate;
        Watched before = Scene.take(other, lock, 30_000);
        CompletableFuture<AcquireResult> wait = Scene.queue(client(relay), lock, TTL_MILLIS);
        Scene.eventually().until(() -> scene.waiting(lock).size() == 1);
        relay.loseNext(frame -> frame.getEventsList().stream().anyMatch(Event::hasOffered), fate);

        before.lease().close();
        Watched held = Scene.await(wait);

        assertThat(relay.hasLost()).isTrue();
        assertKept(held);
        held.lease().close();
        assertGrantedOnce(lock, held, "RELEASED");
        assertNothingIsLeft(lock);
    }

    @ParameterizedTest
    @EnumSource
    @Execution(ExecutionMode.CONCURRENT)
    void aLostAnswerToAnAcceptIsAskedForAgainAndTheLeaseResumed(Fate fate) throws InterruptedException {
        Relay relay = scene.relay();
        String lock = "accepted/" + fate;
        Watched before = Scene.take(other, lock, 30_000);
        CompletableFuture<AcquireResult> wait = Scene.queue(client(relay), lock, TTL_MILLIS);
        Scene.eventually().until(() -> scene.waiting(lock).size() == 1);
        relay.loseNext(reply(Reply::hasAccept), fate);

        before.lease().close();
        Watched held = Scene.await(wait);

        Scene.eventually().until(relay::hasLost);
        assertKept(held);
        held.lease().close();
        assertGrantedOnce(lock, held, "RELEASED");
        assertNothingIsLeft(lock);
    }

    @ParameterizedTest
    @EnumSource
    @Execution(ExecutionMode.CONCURRENT)
    void aLostAnswerToAKeepAliveLosesNoLease(Fate fate) throws InterruptedException {
        Relay relay = scene.relay();
        String lock = "kept/" + fate;
        Watched held = Scene.take(client(relay), lock, TTL_MILLIS);
        relay.loseNext(ServerFrame::hasKeepAlive, fate);
        Scene.eventually().until(relay::hasLost);

        assertKept(held);
        held.lease().close();
        assertGrantedOnce(lock, held, "RELEASED");
        assertNothingIsLeft(lock);
    }

    @ParameterizedTest
    @EnumSource
    @Execution(ExecutionMode.CONCURRENT)
    void aLostAnswerToARenewLosesNoLease(Fate fate) throws InterruptedException {
        Relay relay = scene.relay();
        String lock = "renewed/" + fate;
        Watched held = Scene.take(client(relay), lock, TTL_MILLIS);
        relay.loseNext(reply(Reply::hasRenew), fate);

        // More than can be left after any waiting: asks the server.
        try {
            held.lease().ensureValidFor(Duration.ofMillis(1_977));
        } catch (LeaseLostException e) {
            assertThat(e).as("not so much is certain").hasMessageContaining(lock);
        }

        assertThat(relay.hasLost()).isTrue();
        assertKept(held);
        held.lease().close();
        assertGrantedOnce(lock, held, "RELEASED");
        assertNothingIsLeft(lock);
    }

    @ParameterizedTest
    @EnumSource
    @Execution(ExecutionMode.CONCURRENT)
    void aLostAnswerToAResumeIsAskedForAgain(Fate fate) throws InterruptedException {
        Relay relay = scene.relay();
        String lock = "resumed/" + fate;
        Watched held = Scene.take(client(relay), lock, TTL_MILLIS);
        relay.loseNext(reply(reply -> reply.hasResume() || reply.hasResumeMany()), fate);
        relay.cut();
        Scene.eventually().until(relay::hasLost);

        assertKept(held);
        held.lease().close();
        assertGrantedOnce(lock, held, "RELEASED");
        assertNothingIsLeft(lock);
    }

    @ParameterizedTest
    @EnumSource
    @Execution(ExecutionMode.CONCURRENT)
    void aLostAnswerToAReleaseIsAskedForAgainOrIsUnknown(Fate fate) throws InterruptedException {
        Relay relay = scene.relay();
        String lock = "released/" + fate;
        Watched held = Scene.take(client(relay), lock, TTL_MILLIS);
        relay.loseNext(reply(Reply::hasRelease), fate);

        ReleaseOutcome outcome = held.lease().release();

        assertThat(relay.hasLost()).isTrue();
        assertThat(outcome).isEqualTo(fate == Fate.CUT ? ReleaseOutcome.RELEASED : ReleaseOutcome.UNKNOWN);
        assertThat(held.loss()).isNotDone();
        assertGrantedOnce(lock, held, "RELEASED");
        assertNothingIsLeft(lock);
    }

    @ParameterizedTest
    @EnumSource
    @Execution(ExecutionMode.CONCURRENT)
    void aLostAnswerToALeaveLeavesNobodyInTheQueue(Fate fate) throws InterruptedException {
        Relay relay = scene.relay();
        String lock = "left/" + fate;
        Watched before = Scene.take(other, lock, 30_000);
        CompletableFuture<AcquireResult> wait = Scene.queue(client(relay), lock, TTL_MILLIS);
        Scene.eventually().until(() -> scene.waiting(lock).size() == 1);
        relay.loseNext(reply(Reply::hasLeave), fate);

        wait.cancel(false);
        Scene.eventually().until(relay::hasLost);

        assertThat(scene.waiting(lock)).isEmpty();
        before.lease().close();
        assertNothingIsLeft(lock);
        assertThat(scene.history(lock, "OFFERED")).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    @Execution(ExecutionMode.CONCURRENT)
    void aLostDescriptionIsAskedForAgainOrIsUnavailable(Fate fate) throws InterruptedException {
        Relay relay = scene.relay();
        String lock = "described/" + fate;
        PalisadeClient client = client(relay);
        relay.loseNext(reply(Reply::hasDescribe), fate);

        try {
            assertThat(client.describe(lock).holders()).isEmpty();
        } catch (LockUnavailableException e) {
            assertThat(fate).as("no answer within the time for a call").isEqualTo(Fate.FROZEN);
        }

        assertThat(relay.hasLost()).isTrue();
        Scene.eventually().until(() -> client.describe(lock).holders().isEmpty());
    }
}
