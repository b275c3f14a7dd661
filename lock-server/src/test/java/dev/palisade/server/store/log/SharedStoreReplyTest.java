package dev.palisade.server.store.log;

import static dev.palisade.server.store.log.Asking.acquire;
import static dev.palisade.server.store.log.SharedServers.failure;
import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Command;
import dev.palisade.server.store.StoreFailure;
import dev.palisade.server.store.log.MemoryLogServer.Fault;
import dev.palisade.server.store.log.SharedServers.Server;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A batch whose reply comes later, on the thread that brings it. */
class SharedStoreReplyTest {
    private final SharedServers servers = new SharedServers();
    private Server a;
    private int before;

    @BeforeEach
    void aIsActive() {
        a = servers.server("a:7400");
        a.store.takeTurn();
        assertThat(a.isActive()).isTrue();
        a.client.holdReplies();
        before = servers.log.appends();
    }

    private static Command acquireOf(int session) {
        return acquire("l" + session, session, 1, Duration.ZERO);
    }

    /** As the transport does: on the thread that reads a frame. */
    private CompletableFuture<Answer> asks(int session) {
        CompletableFuture<Answer> reply = new CompletableFuture<>();
        a.store.together(() -> {
            var unused = a.send(acquireOf(session)).whenComplete((answer, thrown) -> {
                if (thrown == null) {
                    reply.complete(answer);
                } else {
                    reply.completeExceptionally(thrown);
                }
            });
        });
        return reply;
    }

    /** With as many others as a second batch in flight has. */
    private CompletableFuture<Answer> asksWithOthers(int session) {
        List<CompletableFuture<Answer>> asked = new ArrayList<>();
        a.store.together(() -> {
            for (int i = 0; i < 8; i++) {
                asked.add(a.send(acquireOf(session + 100 * i)));
            }
        });
        return asked.get(0);
    }

    @Test
    void aFewRequestsAreNoSecondBatch() {
        CompletableFuture<Answer> first = asks(1);
        CompletableFuture<Answer> second = asks(2);
        assertThat(servers.log.appends() - before).as("one in flight").isEqualTo(1);
        a.client.reply();
        assertThat(first.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(second.isDone()).isFalse();
        assertThat(servers.log.appends() - before).isEqualTo(2);
        a.client.reply();
        assertThat(second.getNow(null)).isInstanceOf(Answer.Granted.class);
    }

    @Test
    void theThreadThatAsksSendsTheBatchAndDoesNotWait() {
        CompletableFuture<Answer> asked = asks(1);
        assertThat(a.client.sending()).isEqualTo(1);
        assertThat(asked.isDone()).isFalse();
        a.client.reply();
        assertThat(asked.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(a.client.sending()).isZero();
    }

    @Test
    void aSecondBatchIsSentBeforeTheReplyToTheFirst() {
        CompletableFuture<Answer> first = asks(1);
        CompletableFuture<Answer> second = asksWithOthers(2);
        CompletableFuture<Answer> third = asksWithOthers(3);
        CompletableFuture<Answer> fourth = asks(4);
        assertThat(servers.log.appends() - before).as("two in flight").isEqualTo(2);
        a.client.reply();
        assertThat(first.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(second.isDone()).isFalse();
        assertThat(servers.log.appends() - before)
                .as("what was asked meanwhile")
                .isEqualTo(3);
        a.client.reply();
        assertThat(second.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(third.isDone()).isFalse();
        a.client.reply();
        assertThat(third.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(fourth.getNow(null)).isInstanceOf(Answer.Granted.class);
    }

    @Test
    void ofTwoBatchesThatWereLostBothAreSentAgainAsOne() {
        servers.log.next(Fault.LOST, Fault.LOST);
        CompletableFuture<Answer> first = asks(1);
        CompletableFuture<Answer> second = asksWithOthers(2);
        a.client.reply();
        assertThat(a.store.status().up()).as("the other is in flight").isTrue();
        a.client.reply();
        assertThat(a.store.status().up()).isFalse();
        a.live(50);
        assertThat(first.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(second.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(servers.log.appends() - before).isEqualTo(1);
        assertThat(a.told).hasSize(9);
    }

    @Test
    void aBatchAfterOneThatWasLostIsNotStoredBeforeIt() {
        servers.log.next(Fault.LOST);
        CompletableFuture<Answer> first = asks(1);
        CompletableFuture<Answer> second = asksWithOthers(2);
        assertThat(servers.log.appends() - before)
                .as("the log lacks the one before")
                .isZero();
        a.client.reply();
        a.client.reply();
        a.live(50);
        assertThat(first.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(second.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(servers.log.appends() - before).isEqualTo(1);
    }

    @Test
    void ofTwoBatchesOfWhichTheLogHoldsOneTheOtherIsSentAgain() {
        servers.log.next(Fault.UNANSWERED, Fault.LOST);
        CompletableFuture<Answer> first = asks(1);
        CompletableFuture<Answer> second = asksWithOthers(2);
        a.client.reply();
        a.client.reply();
        assertThat(first.isDone()).isFalse();
        a.live(50);
        assertThat(first.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(second.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(servers.log.appends() - before).isEqualTo(2);
        Server b = servers.server("b:7400");
        a.store.close();
        b.live(500);
        assertThat(b.answer(acquire("l1", 9, 1, Duration.ZERO))).isInstanceOf(Answer.Busy.class);
        assertThat(b.answer(acquire("l2", 9, 2, Duration.ZERO))).isInstanceOf(Answer.Busy.class);
    }

    @Test
    void twoBatchesWithoutAReplyThatTheLogHoldsAreNotSentAgain() {
        servers.log.next(Fault.UNANSWERED, Fault.UNANSWERED);
        CompletableFuture<Answer> first = asks(1);
        CompletableFuture<Answer> second = asksWithOthers(2);
        a.client.reply();
        a.client.reply();
        a.live(50);
        assertThat(first.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(second.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(servers.log.appends() - before).isEqualTo(2);
    }

    @Test
    void twoBatchesThatWereRefusedAreStoredWhenTheLogTakesThem() {
        servers.log.next(Fault.REFUSED, Fault.REFUSED);
        CompletableFuture<Answer> first = asks(1);
        CompletableFuture<Answer> second = asksWithOthers(2);
        a.client.reply();
        a.client.reply();
        a.live(150);
        assertThat(first.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(second.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(servers.log.appends() - before).isEqualTo(1);
    }

    @Test
    void timeDoesNotSendASecondBatch() {
        var unused = asks(1);
        a.live(1_900);
        assertThat(servers.log.appends() - before).isEqualTo(1);
        a.client.reply();
        a.live(450);
        assertThat(a.client.sending()).as("the claim is kept").isEqualTo(1);
    }

    @Test
    void aBatchThatWasLostIsSentAgainByTheStoresOwnThread() {
        servers.log.next(Fault.LOST);
        CompletableFuture<Answer> asked = asks(1);
        a.client.reply();
        assertThat(asked.isDone()).isFalse();
        assertThat(failure(a.send(acquireOf(2))))
                .get()
                .extracting(StoreFailure::kind)
                .isEqualTo(StoreFailure.Kind.UNAVAILABLE);
        a.live(50);
        assertThat(asked.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(servers.log.appends() - before).isEqualTo(1);
    }

    @Test
    void aServerThatIsDeposedWhileItsBatchIsOnTheWayAnswersNothing() {
        Server b = servers.server("b:7400");
        servers.log.next(Fault.LOST);
        CompletableFuture<Answer> asked = asks(1);
        b.live(2_500);
        assertThat(b.isActive()).isTrue();
        a.client.reply();
        a.live(50);
        assertThat(failure(asked))
                .get()
                .extracting(StoreFailure::isOutcomeUnknown)
                .isEqualTo(true);
        assertThat(a.deposed).hasSize(1);
    }
}
