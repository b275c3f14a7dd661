package dev.palisade.guard.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.Admission;
import dev.palisade.guard.Admission.Retention;
import dev.palisade.guard.Check;
import dev.palisade.guard.GrantingLocks;
import dev.palisade.guard.Guard;
import dev.palisade.guard.HeldMarks;
import dev.palisade.guard.grpc.shop.Item;
import dev.palisade.guard.grpc.shop.ShopGrpc;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Unary calls through {@link GuardInterceptor}: who gets in, who waits, and when a call has ended. */
class GuardInterceptorTest {
    private Served shop = new Served();

    @AfterEach
    void close() {
        shop.close();
    }

    @Test
    void aCallWithItsLocksSequencerReachesTheHandler() {
        assertThat(shop.put(33, "a").end).isCompleted();
        assertThat(shop.floor.seen).containsExactly("put a");
    }

    @Test
    void aStaleCallNeverReachesTheHandlerAndLearnsWhy() {
        shop.put(34, "b");
        Rejection rejection = Served.rejection(shop.put(33, "a"));
        assertThat(rejection.reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(rejection.metadata())
                .containsEntry(Rejection.PRESENTED_TOKEN, "33")
                .containsEntry(Rejection.MARK_TOKEN, "34")
                .containsEntry(Rejection.APPLIED, "no");
        assertThat(shop.floor.seen).containsExactly("put b");
    }

    @Test
    void aReadRaisesTheMarkToo() {
        shop.as(34).get(Served.item("b"), new Answer());
        Served.refused(shop.put(33, "a"), Reason.TOKEN_STALE);
    }

    @Test
    void aSharedGrantMayReadAndNotWrite() {
        Answer read = new Answer();
        shop.as(shop.grants.shared("items/1", 33)).get(Served.item("a"), read);
        assertThat(read.end).isCompleted();
        Answer write = new Answer();
        shop.as(shop.grants.shared("items/1", 34)).put(Served.item("b"), write);
        Served.refused(write, Reason.MODE_NOT_ALLOWED);
    }

    @Test
    void aCallWithoutASequencerOrWithAnythingElseInItsPlaceIsRefused() {
        ShopGrpc.ShopStub bare = ShopGrpc.newStub(shop.channel);
        Served.refused(put(bare), Reason.SEQUENCER_MISSING);
        Served.refused(put(bare.withInterceptors(Served.header(new byte[] {1, 2}))), Reason.SEQUENCER_INVALID);
        Served.refused(put(bare.withInterceptors(Served.header(new byte[513]))), Reason.SEQUENCER_INVALID);
        byte[] good = shop.grants.exclusive("items/1", 33).toBytes();
        Served.refused(put(bare.withInterceptors(Served.header(good, good))), Reason.SEQUENCER_INVALID);
        Served.refused(put(shop.as(shop.grants.exclusive("items/2", 99))), Reason.WRONG_RESOURCE);
        assertThat(shop.floor.seen).isEmpty();
        assertThat(shop.guard.mark("items/1")).isEmpty();
        assertThat(shop.guard.stats().refused())
                .containsEntry(Reason.SEQUENCER_MISSING, 1L)
                .containsEntry(Reason.SEQUENCER_INVALID, 3L)
                .containsEntry(Reason.WRONG_RESOURCE, 1L);
    }

    @Test
    void aRequestThatNamesNoLockIsMalformed() {
        Answer answer = new Answer();
        shop.as(33).put(Item.newBuilder().setText("no id").build(), answer);
        Served.refused(answer, Reason.MALFORMED_REQUEST);
        Answer control = new Answer();
        shop.as(33).put(Item.newBuilder().setId("1\n").build(), control);
        Served.refused(control, Reason.MALFORMED_REQUEST);
        assertThat(shop.guard.stats().refused()).containsEntry(Reason.MALFORMED_REQUEST, 2L);
    }

    @Test
    void theHandlerStartsOnlyWhenTheMarkIsDurable() {
        shop.marks.hold();
        Answer answer = shop.put(33, "a");
        assertThat(shop.floor.seen).isEmpty();
        shop.oneWaits();
        shop.marks.sync();
        assertThat(shop.floor.seen).containsExactly("put a");
        assertThat(answer.end).isCompleted();
    }

    @Test
    void aNewerGrantWaitsUntilTheOlderOnesHandlerHasClosedItsCall() {
        shop.floor.answersAtOnce = false;
        shop.put(33, "a");
        shop.put(34, "b");
        shop.oneWaits();
        ShopFloor.end(shop.floor.open.remove());
        assertThat(shop.floor.seen).containsExactly("put a", "put b");
    }

    @Test
    void aHandlerThatGoesOnAfterClosingItsCallIsAwaited() {
        List<String> inside = new ArrayList<>();
        shop.floor.afterwards = item -> {
            if (item.getText().equals("a")) {
                shop.put(34, "b");
                inside.addAll(shop.floor.seen);
                shop.oneWaits();
            }
        };
        assertThat(shop.put(33, "a").end).isCompleted();
        assertThat(inside).as("seen before the first handler returned").containsExactly("put a");
        assertThat(shop.floor.seen).containsExactly("put a", "put b");
    }

    @Test
    void aClientThatLeavesWhileItWaitsLeavesTheGuardsQueueToo() {
        shop.floor.answersAtOnce = false;
        shop.put(33, "a");
        Answer next = shop.put(34, "b");
        shop.oneWaits();
        next.cancel();
        assertThat(shop.guard.stats().waiting()).isZero();
        ShopFloor.end(shop.floor.open.remove());
        assertThat(shop.floor.seen).containsExactly("put a");
        shop.put(35, "c");
        assertThat(shop.floor.seen).containsExactly("put a", "put c");
    }

    @Test
    void theCallsOwnDeadlineBoundsTheWait() {
        shop.floor.answersAtOnce = false;
        shop.put(33, "a");
        Answer next = new Answer();
        shop.as(34).withDeadlineAfter(500, TimeUnit.MILLISECONDS).put(Served.item("b"), next);
        assertThat(next.end).failsWithin(5, TimeUnit.SECONDS);
        Served.refused(next, Reason.DRAINING);
        assertThat(shop.floor.seen).containsExactly("put a");
    }

    @Test
    void aCancelledHandlerHoldsTheResourceUntilItClosesItsCallAfterAll() {
        shop.floor.answersAtOnce = false;
        Answer first = shop.put(33, "a");
        first.cancel();
        Answer next = shop.put(34, "b");
        shop.oneWaits();
        assertThat(next.end).isNotDone();
        shop.floor.open.remove().onError(Status.CANCELLED.asRuntimeException());
        assertThat(shop.floor.seen).containsExactly("put a", "put b");
    }

    @Test
    void aCancelledHandlerThatNeverClosesItsCallIsForgottenAfterTheTimeForUnknownEnds() {
        shop.close();
        shop = new Served(guard -> guard.unknownOutcomeTimeout(Duration.ofMillis(1)));
        shop.floor.answersAtOnce = false;
        shop.put(33, "a").cancel();
        shop.floor.answersAtOnce = true;
        assertThat(shop.put(34, "b").end).succeedsWithin(5, TimeUnit.SECONDS);
    }

    @Test
    void aHandlerThatThrowsIsAnsweredForAndCountsAsRunningStill() {
        shop.floor.work = item -> {
            throw new IllegalStateException("broken");
        };
        Answer thrown = shop.put(33, "a");
        assertThat(thrown.end)
                .failsWithin(5, TimeUnit.SECONDS)
                .withThrowableOfType(ExecutionException.class)
                .havingCause()
                .isInstanceOfSatisfying(
                        StatusRuntimeException.class,
                        e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.UNKNOWN));
        shop.floor.work = item -> {};
        assertThat(shop.put(33, "again, of the same grant").end).isNotDone();
        shop.oneWaits();
        Answer next = shop.put(34, "b");
        assertThat(next.end).isNotDone();
        shop.oneWaits(); // The other one was superseded.
        assertThat(shop.floor.seen).isEmpty();
    }

    @Test
    void workThatOutlivesItsCallIsAwaitedWhenItRetainsTheAdmission() {
        Retention[] retained = new Retention[1];
        shop.floor.work =
                item -> retained[0] = GuardInterceptor.admission().orElseThrow().retain();
        assertThat(shop.put(33, "a").end).isCompleted();
        shop.floor.work = item -> {};
        shop.put(34, "b");
        shop.oneWaits();
        retained[0].close();
        assertThat(shop.floor.seen).containsExactly("put a", "put b");
    }

    @Test
    void theHandlerFindsTheVerifiedSequencerInItsContext() {
        long[] token = new long[1];
        shop.floor.work = item -> token[0] = GuardInterceptor.admission()
                .flatMap(Admission::sequencer)
                .orElseThrow()
                .token()
                .value();
        shop.put(33, "a");
        assertThat(token[0]).isEqualTo(33);
    }

    @Test
    void aNewerGrantDoesNotCancelAUnaryCall() {
        shop.floor.answersAtOnce = false;
        Answer first = shop.put(33, "a");
        shop.put(34, "b");
        assertThat(first.end).isNotDone();
    }

    @Test
    void aGuardThatOnlyObservesDisturbsNobodyAndCounts() {
        shop.close();
        shop = new Served(Guard.Builder::observeOnly);
        assertThat(shop.put(34, "b").end).isCompleted();
        assertThat(shop.put(33, "a").end).isCompleted();
        assertThat(put(ShopGrpc.newStub(shop.channel)).end).isCompleted();
        assertThat(put(ShopGrpc.newStub(shop.channel).withInterceptors(Served.header(new byte[1]))).end)
                .isCompleted();
        Answer nameless = new Answer();
        shop.as(33).put(Item.getDefaultInstance(), nameless);
        assertThat(nameless.end).isCompleted();
        assertThat(shop.floor.seen).hasSize(5);
        assertThat(shop.guard.stats().wouldRefuse())
                .containsEntry(Reason.TOKEN_STALE, 1L)
                .containsEntry(Reason.SEQUENCER_MISSING, 1L)
                .containsEntry(Reason.SEQUENCER_INVALID, 1L)
                .containsEntry(Reason.MALFORMED_REQUEST, 1L);
        assertThat(shop.guard.stats().refused()).isEmpty();
    }

    @Test
    void aMethodThatIsCheckedOnlineRefusesALeaseThatTheLockServerNoLongerKnows() {
        shop.close();
        shop = new Served(
                guard -> guard.lockService(new NobodyIsAlive()),
                bindings -> bindings.check(ShopGrpc.getPutMethod(), Check.ONLINE));
        Served.refused(shop.put(33, "a"), Reason.LEASE_EXPIRED);
        Answer read = new Answer();
        shop.as(33).get(Served.item("a"), read);
        assertThat(read.end).as("a method that is not").isCompleted();
        assertThat(shop.floor.seen).containsExactly("get a");
    }

    private static final class NobodyIsAlive implements GrantingLocks {
        @Override
        public CompletionStage<Long> barrier(LockName lock) {
            return CompletableFuture.completedStage(1L);
        }

        @Override
        public CompletionStage<Boolean> isAlive(SignedSequencer sequencer) {
            return CompletableFuture.completedStage(false);
        }
    }

    @Test
    void aGuardThatFailsLetsNobodyInAndSaysSo() {
        shop.close();
        shop = new Served(working -> Guard.builder(
                signed -> {
                    throw new IllegalStateException("no keys");
                },
                new HeldMarks()));
        Answer answer = shop.put(33, "a");
        Served.refused(answer, Reason.MARK_UNAVAILABLE);
        assertThat(Served.rejection(answer).message()).contains("no keys");
        assertThat(shop.floor.seen).isEmpty();
    }

    private static Answer put(ShopGrpc.ShopStub stub) {
        Answer answer = new Answer();
        stub.put(Served.item("x"), answer);
        return answer;
    }
}
