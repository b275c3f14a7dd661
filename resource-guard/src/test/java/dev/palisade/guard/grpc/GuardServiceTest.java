package dev.palisade.guard.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.ClaimReply;
import dev.palisade.proto.v1.ClaimRequest;
import dev.palisade.proto.v1.DescribeMarkRequest;
import dev.palisade.proto.v1.GuardGrpc;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Claims and descriptions over gRPC, beside the service that they are about. */
class GuardServiceTest {
    private final Served shop = new Served();

    @AfterEach
    void close() {
        shop.close();
    }

    @Test
    void afterAClaimTheOlderGrantIsRefusedBeforeTheNewerOnesFirstWrite() throws Exception {
        shop.put(33, "a");
        ClaimReply reply = claim(34, "items/1").get();
        assertThat(reply.getMark().getExclusiveToken()).isEqualTo(34);
        assertThat(reply.getMark().getLock()).isEqualTo("items/1");
        Served.refused(shop.put(33, "late"), Reason.TOKEN_STALE);
        assertThat(shop.floor.seen).containsExactly("put a");
    }

    @Test
    void aClaimWaitsForTheOlderGrantsCalls() {
        shop.floor.answersAtOnce = false;
        shop.put(33, "a");
        Future<ClaimReply> claim = claim(34, "items/1");
        assertThat(claim.isDone()).isFalse();
        ShopFloor.end(shop.floor.open.remove());
        assertThat(claim.isDone()).isTrue();
    }

    @Test
    void aClaimWaitsNoLongerThanItsDeadlineAndTheMarkStaysRaised() throws Exception {
        shop.floor.answersAtOnce = false;
        shop.put(33, "a");
        GuardGrpc.GuardFutureStub hurried =
                as(shop.grants.exclusive("items/1", 34)).withDeadlineAfter(1, TimeUnit.SECONDS);
        assertThat(reason(hurried.claim(request("items/1")))).isEqualTo(Reason.DRAINING);
        Served.refused(shop.put(33, "late"), Reason.TOKEN_STALE);
    }

    @Test
    void aClaimThatItsClientGivesUpLeavesTheQueue() {
        shop.floor.answersAtOnce = false;
        shop.put(33, "a");
        Future<ClaimReply> claim = claim(34, "items/1");
        shop.oneWaits();
        claim.cancel(true);
        assertThat(shop.guard.stats().waiting()).isZero();
    }

    @Test
    void aSharedGrantMayClaim() throws Exception {
        SignedSequencer shared = shop.grants.sign("items/1", Mode.SHARED, 34, 34);
        assertThat(as(shared).claim(request("items/1")).get().getMark().getSharedToken())
                .isEqualTo(34);
        Served.refused(shop.put(33, "late"), Reason.TOKEN_STALE);
    }

    @Test
    void onlyWhatIsGuardedHereByTheSequencersOwnLockCanBeClaimed() throws Exception {
        assertThat(reason(claim(34, "elsewhere/1"))).isEqualTo(Reason.WRONG_RESOURCE);
        assertThat(reason(claim(34, "items/2"))).isEqualTo(Reason.WRONG_RESOURCE);
        assertThat(reason(claim(34, ""))).isEqualTo(Reason.MALFORMED_REQUEST);
        assertThat(reason(GuardGrpc.newFutureStub(shop.channel).claim(request("items/1"))))
                .isEqualTo(Reason.SEQUENCER_MISSING);
        assertThat(shop.guard.mark("items/1")).isEmpty();
        assertThat(shop.guard.mark("items/2")).isEmpty();
    }

    @Test
    void aMarkIsDescribedAndNoneIsNot() throws Exception {
        shop.put(33, "a");
        GuardGrpc.GuardFutureStub guard = GuardGrpc.newFutureStub(shop.channel);
        DescribeMarkRequest known =
                DescribeMarkRequest.newBuilder().setResource("items/1").build();
        assertThat(guard.describeMark(known).get().getMark().getExclusiveToken())
                .isEqualTo(33);
        DescribeMarkRequest unknown =
                DescribeMarkRequest.newBuilder().setResource("items/9").build();
        assertThat(guard.describeMark(unknown).get().hasMark()).isFalse();
    }

    private Future<ClaimReply> claim(long token, String resource) {
        return as(shop.grants.exclusive("items/1", token)).claim(request(resource));
    }

    private GuardGrpc.GuardFutureStub as(SignedSequencer sequencer) {
        return GuardGrpc.newFutureStub(shop.channel).withInterceptors(Served.header(sequencer.toBytes()));
    }

    private static ClaimRequest request(String resource) {
        return ClaimRequest.newBuilder().setResource(resource).build();
    }

    private static Reason reason(Future<ClaimReply> claim) throws InterruptedException {
        try {
            throw new AssertionError("answered with " + claim.get());
        } catch (ExecutionException e) {
            return Rejections.ofThrowable(e.getCause() == null ? e : e.getCause())
                    .orElseThrow()
                    .reason();
        }
    }
}
