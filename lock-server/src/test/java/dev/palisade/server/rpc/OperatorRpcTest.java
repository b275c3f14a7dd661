package dev.palisade.server.rpc;

import static dev.palisade.server.rpc.Served.acquire;
import static dev.palisade.server.rpc.Served.reason;
import static dev.palisade.server.rpc.Served.rejection;
import static dev.palisade.server.rpc.Served.session;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.BarrierReply;
import dev.palisade.proto.v1.BarrierRequest;
import dev.palisade.proto.v1.Busy;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.CheckSequencerRequest;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.ForceReleaseRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.HistoryEntry;
import dev.palisade.proto.v1.HistoryReply;
import dev.palisade.proto.v1.HistoryRequest;
import dev.palisade.proto.v1.ListReply;
import dev.palisade.proto.v1.ListRequest;
import dev.palisade.proto.v1.LostEvent;
import dev.palisade.proto.v1.LostReason;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ReleaseRequestedEvent;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.proto.v1.RequestReleaseRequest;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Request;
import dev.palisade.server.core.Tombstones;
import dev.palisade.server.core.Waiter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is asked by others than holders and waiters. */
class OperatorRpcTest {
    private Served served;

    @BeforeEach
    void serve(@TempDir Path directory) throws Exception {
        served = new Served(directory);
    }

    @AfterEach
    void stop() throws Exception {
        served.close();
    }

    private int requestRelease(String lock, String why) {
        return served.unary()
                .requestRelease(RequestReleaseRequest.newBuilder()
                        .setLock(lock)
                        .setBy("ops")
                        .setWhy(why)
                        .build())
                .getHoldersAsked();
    }

    private int forceRelease(String lock, long token) {
        return served.unary()
                .forceRelease(ForceReleaseRequest.newBuilder()
                        .setLock(lock)
                        .setToken(token)
                        .setBy("ops")
                        .setWhy("node is gone")
                        .build())
                .getReleased();
    }

    private Granted unaryGranted(AcquireRequest.Builder request, long session) {
        return served.unary()
                .acquire(request.setSessionId(session(session)).build())
                .getGranted();
    }

    private static List<ReleaseRequestedEvent> asked(Served.Stream stream) {
        return stream.events.stream()
                .filter(Event::hasReleaseRequested)
                .map(Event::getReleaseRequested)
                .toList();
    }

    private static List<LostEvent> lost(Served.Stream stream) {
        return stream.events.stream().filter(Event::hasLost).map(Event::getLost).toList();
    }

    // ---- requests to release ----

    @Test
    void aRequestToReleaseReachesEveryHoldersStreamAndNobodyElseAndChangesNothing() {
        Served.Stream one = served.stream(1, 1);
        Served.Stream two = served.stream(2, 1);
        Served.Stream waiter = served.stream(3, 1);
        Granted first = one.granted(acquire("a", 1, 0).setMode(Mode.SHARED));
        Granted second = two.granted(acquire("a", 1, 0).setMode(Mode.SHARED));
        one.granted(acquire("other", 2, 0));
        waiter.ask(Call.newBuilder().setAcquire(acquire("a", 1, 60_000)));

        assertThat(requestRelease("a", "migration")).isEqualTo(2);

        await().untilAsserted(() -> assertThat(asked(two)).hasSize(1));
        await().untilAsserted(() -> assertThat(asked(one))
                .containsExactly(ReleaseRequestedEvent.newBuilder()
                        .setLock("a")
                        .setGrantId(first.getGrantId())
                        .setBy("ops")
                        .setWhy("migration")
                        .build()));
        assertThat(asked(two).get(0).getGrantId()).isEqualTo(second.getGrantId());
        assertThat(waiter.events).isEmpty();
        assertThat(one.keepAlive(1).getLostList()).isEmpty();
        assertThat(requestRelease("nobody's", "migration")).isZero();
    }

    @Test
    void aHolderWithoutAStreamIsCountedAndNotReached() {
        unaryGranted(acquire("a", 1, 0).setMode(Mode.SHARED), 1);
        Served.Stream stream = served.stream(2, 1);
        stream.granted(acquire("a", 1, 0).setMode(Mode.SHARED));
        assertThat(requestRelease("a", "migration")).isEqualTo(2);
        await().untilAsserted(() -> assertThat(asked(stream)).hasSize(1));
    }

    @Test
    void aClientThatDoesNotReadGathersOneAskingOfEachLeaseAndHearsTheLast() {
        Served.Stream deaf = served.new Stream(1, 1, false);
        deaf.send(dev.palisade.proto.v1.ClientFrame.newBuilder()
                .addCalls(Call.newBuilder().setCallId(1).setAcquire(acquire("a", 1, 0)))
                .addCalls(Call.newBuilder().setCallId(2).setAcquire(acquire("b", 2, 0))));
        await().until(() -> requestRelease("b", "first") == 1);
        for (int i = 0; i < 500; i++) {
            requestRelease("a", "asking " + i);
        }
        requestRelease("a", "the last");
        requestRelease("b", "the last");
        deaf.out.request(Integer.MAX_VALUE);
        await().untilAsserted(() -> assertThat(asked(deaf))
                .extracting(ReleaseRequestedEvent::getLock)
                .contains("a", "b"));
        // What the transport had taken before it stopped taking may be said twice.
        assertThat(asked(deaf)).hasSizeLessThan(10);
        assertThat(asked(deaf))
                .filteredOn(event -> event.getLock().equals("a"))
                .last()
                .extracting(ReleaseRequestedEvent::getWhy)
                .isEqualTo("the last");
    }

    // ---- force-release ----

    @Test
    void aForcedReleaseTellsTheHolderByWhomAndWhyAndHandsTheLockOn() {
        Served.Stream holder = served.stream(1, 1);
        Served.Stream waiter = served.stream(2, 1);
        Granted held = holder.granted(acquire("a", 1, 0));
        waiter.ask(Call.newBuilder().setAcquire(acquire("a", 1, 60_000)));

        assertThat(forceRelease("a", held.getToken() + FencingToken.PER_GRANT)).isZero();
        assertThat(forceRelease("a", held.getToken())).isEqualTo(1);

        await().untilAsserted(() -> assertThat(lost(holder))
                .containsExactly(LostEvent.newBuilder()
                        .setLock("a")
                        .setGrantId(held.getGrantId())
                        .setReason(LostReason.LOST_FORCE_RELEASED)
                        .setDetail("by ops: node is gone")
                        .build()));
        await().untilAsserted(() -> assertThat(waiter.events).anyMatch(Event::hasOffered));
        assertThat(holder.release(held).getRejected().getReason()).isEqualTo("LEASE_EXPIRED");
        assertThat(forceRelease("a", held.getToken()))
                .as("said again it ends nobody else's lease")
                .isZero();
    }

    @Test
    void aMinimumHoldTimeIsToldAndAnOperatorEndsIt() {
        Served.Stream holder = served.stream(1, 1);
        Granted held = holder.granted(acquire("a", 1, 0).setLockAtLeastForMillis(3_600_000));
        assertThat(held.getLockAtLeastForMillis()).isEqualTo(3_600_000);
        assertThat(holder.release(held).hasRelease()).isTrue();
        Busy busy = served.unary()
                .acquire(acquire("a", 1, 0).setSessionId(session(2)).build())
                .getBusy();
        assertThat(busy.hasHolder()).isFalse();
        assertThat(busy.getMinimumHoldRemainingMillis()).isBetween(1L, 3_600_000L);
        assertThat(busy.getRemainingMillis()).isEqualTo(busy.getMinimumHoldRemainingMillis());
        DescribeReply described = served.unary()
                .describe(DescribeRequest.newBuilder().setLock("a").build());
        assertThat(described.getMinimumHoldRemainingMillis()).isBetween(1L, 3_600_000L);
        assertThat(described.getLockDelayRemainingMillis()).isZero();

        assertThat(forceRelease("a", held.getToken())).as("its lease is over").isZero();
        assertThat(forceRelease("a", 0)).isEqualTo(1);
        assertThat(forceRelease("a", 0)).isZero();
        assertThat(unaryGranted(acquire("a", 2, 0), 2).getLockAtLeastForMillis())
                .isZero();
    }

    @Test
    void theLateHolderIsRefusedWithWhoAndWhy() {
        Granted held = unaryGranted(acquire("a", 1, 0), 1);
        assertThat(forceRelease("a", 0)).isEqualTo(1);
        Rejection refused = rejection(catchThrowable(() -> served.unary()
                .renew(RenewRequest.newBuilder()
                        .setLock("a")
                        .setGrantId(held.getGrantId())
                        .setToken(held.getToken())
                        .setSessionId(session(1))
                        .build())));
        assertThat(refused.reason()).isEqualTo(Reason.LEASE_EXPIRED);
        assertThat(refused.message()).contains("FORCE_RELEASED, by ops: node is gone");
        assertThat(refused.metadata())
                .containsEntry(Rejection.ENDED, "FORCE_RELEASED")
                .containsEntry(Rejection.DETAIL, "by ops: node is gone");
        assertThat(served.unary()
                        .describe(DescribeRequest.newBuilder().setLock("a").build())
                        .getHoldersTotal())
                .isZero();
    }

    @Test
    void whoAndWhyMustBeSaidAndTheTokenBeOne() {
        Granted held = unaryGranted(acquire("a", 1, 0), 1);
        ForceReleaseRequest right = ForceReleaseRequest.newBuilder()
                .setLock("a")
                .setBy("o".repeat(256))
                .setWhy("w")
                .build();
        List<Function<ForceReleaseRequest.Builder, ForceReleaseRequest.Builder>> wrong = List.of(
                request -> request.setBy(""),
                request -> request.setWhy(""),
                request -> request.setBy("o".repeat(257)),
                request -> request.setWhy("w".repeat(257)),
                request -> request.setWhy("two\nlines"),
                request -> request.setLock(""),
                request -> request.setToken(-1),
                request -> request.setToken(FencingToken.MAX + 1));
        for (var each : wrong) {
            assertThat(reason(catchThrowable(() -> served.unary()
                            .forceRelease(each.apply(right.toBuilder()).build()))))
                    .isEqualTo(Reason.MALFORMED_REQUEST);
        }
        RequestReleaseRequest ask = RequestReleaseRequest.newBuilder()
                .setLock("a")
                .setBy("ops")
                .setWhy("w")
                .build();
        for (RequestReleaseRequest.Builder each : List.of(
                ask.toBuilder().setBy(""),
                ask.toBuilder().setWhy(""),
                ask.toBuilder().setWhy("w".repeat(257)))) {
            assertThat(reason(catchThrowable(() -> served.unary().requestRelease(each.build()))))
                    .isEqualTo(Reason.MALFORMED_REQUEST);
        }
        assertThat(served.unary()
                        .describe(DescribeRequest.newBuilder().setLock("a").build())
                        .getHolders(0)
                        .getToken())
                .isEqualTo(held.getToken());
        assertThat(served.unary().forceRelease(right).getReleased()).isEqualTo(1);
    }

    // ---- check-sequencer ----

    private boolean isAlive(ByteString sequencer) {
        return served.unary()
                .checkSequencer(CheckSequencerRequest.newBuilder()
                        .setSequencer(sequencer)
                        .build())
                .getAlive();
    }

    @Test
    void aSequencerIsAliveAsLongAsItsLeaseIs() {
        Granted held = unaryGranted(acquire("a", 1, 0), 1);
        assertThat(isAlive(held.getSequencer())).isTrue();
        forceRelease("a", held.getToken());
        assertThat(isAlive(held.getSequencer())).isFalse();
        Granted next = unaryGranted(acquire("a", 1, 0).setTtlMillis(1_000), 2);
        assertThat(isAlive(held.getSequencer())).isFalse();
        assertThat(isAlive(next.getSequencer())).isTrue();
        served.nanos.addAndGet(1_000_000_000L);
        assertThat(isAlive(next.getSequencer())).isFalse();
    }

    @Test
    void whatThisServiceDidNotSignIsInvalidAndNotMerelyDead() {
        Granted held = unaryGranted(acquire("a", 1, 0), 1);
        byte[] forged = held.getSequencer().toByteArray();
        forged[forged.length - 1] ^= 1;
        Sequencer genuine = new Sequencer(
                "test",
                new LockName("a"),
                dev.palisade.contract.Mode.EXCLUSIVE,
                new FencingToken(held.getToken()),
                GrantId.of(held.getGrantId().toByteArray()),
                1);
        byte[] foreign = SequencerKeys.generate().sign(genuine).toBytes();
        byte[] ofAnotherIssuer = served.keys
                .sign(new Sequencer("elsewhere", genuine.lock(), genuine.mode(), genuine.token(), genuine.grant(), 1))
                .toBytes();
        assertThat(isAlive(ByteString.copyFrom(served.keys.sign(genuine).toBytes())))
                .isTrue();
        for (byte[] each :
                List.of(new byte[0], new byte[600], new byte[] {1, 2, 3}, forged, foreign, ofAnotherIssuer)) {
            assertThat(reason(catchThrowable(() -> isAlive(ByteString.copyFrom(each)))))
                    .isEqualTo(Reason.SEQUENCER_INVALID);
        }
    }

    // ---- barrier ----

    @Test
    void aBarrierStandsBetweenWhatWasGrantedBeforeAndAfter() {
        Granted before = unaryGranted(acquire("a", 1, 0), 1);
        BarrierReply barrier =
                served.unary().barrier(BarrierRequest.newBuilder().setLock("a").build());
        assertThat(barrier.getIssuer()).isEqualTo("test");
        assertThat(barrier.getToken()).isGreaterThan(before.getToken());
        forceRelease("a", 0);
        assertThat(unaryGranted(acquire("a", 2, 0), 1).getToken()).isGreaterThan(barrier.getToken());
        assertThat(reason(catchThrowable(() -> served.unary().barrier(BarrierRequest.getDefaultInstance()))))
                .isEqualTo(Reason.MALFORMED_REQUEST);
    }

    // ---- history ----

    @Test
    void theHistoryOfALockTellsWhoWhenAndWhy() {
        Granted held = unaryGranted(acquire("a", 1, 0).setOwner("job 7").setPurpose("nightly"), 1);
        served.running = false;
        long at = served.store.nowMillis();
        forceRelease("a", 0);
        HistoryReply history =
                served.unary().history(HistoryRequest.newBuilder().setLock("a").build());
        assertThat(history.getEntriesList()).hasSize(2);
        assertThat(history.getEntries(0).getWhat()).isEqualTo("GRANTED");
        assertThat(history.getEntries(0).getDetail()).isEqualTo("nightly");
        assertThat(history.getEntries(1))
                .isEqualTo(HistoryEntry.newBuilder()
                        .setAtEpochMillis(at)
                        .setWhat("FORCE_RELEASED")
                        .setToken(held.getToken())
                        .setGrantId(held.getGrantId())
                        .setOwner("job 7")
                        .setDetail("by ops: node is gone")
                        .build());
        assertThat(served.unary()
                        .history(HistoryRequest.newBuilder().setLock("b").build())
                        .getEntriesList())
                .isEmpty();
        assertThat(reason(catchThrowable(() -> served.unary().history(HistoryRequest.getDefaultInstance()))))
                .isEqualTo(Reason.MALFORMED_REQUEST);
    }

    @Test
    void aStoreThatIsStoppingIsUnavailableForLooksToo() {
        served.store.close();
        assertThat(reason(catchThrowable(() -> served.unary()
                        .history(HistoryRequest.newBuilder().setLock("a").build()))))
                .isEqualTo(Reason.STORE_UNAVAILABLE);
    }

    // ---- list ----

    private ListReply list(String prefix, int size, String token) {
        return served.unary()
                .list(ListRequest.newBuilder()
                        .setPrefix(prefix)
                        .setPageSize(size)
                        .setPageToken(token)
                        .build());
    }

    @Test
    void pagesByPrefixTellEveryLockInUseOnce() {
        for (int i = 1; i <= 250; i++) {
            unaryGranted(acquire("orders/" + i, i, 0), 1);
        }
        unaryGranted(acquire("order", 251, 0), 1);
        unaryGranted(acquire("orders0", 252, 0), 1);
        unaryGranted(acquire("\u00e9tat/\uD83D\uDD12/1", 253, 0).setOwner("me"), 1);
        List<String> names = new ArrayList<>();
        String token = "";
        int pages = 0;
        do {
            ListReply page = list("orders/", 0, token);
            assertThat(page.getLocksCount()).isLessThanOrEqualTo(100);
            page.getLocksList().forEach(lock -> names.add(lock.getLock()));
            token = page.getNextPageToken();
            pages++;
        } while (!token.isEmpty());
        assertThat(pages).isEqualTo(3);
        assertThat(names).hasSize(250).doesNotHaveDuplicates().allMatch(name -> name.startsWith("orders/"));
        assertThat(list("\u00e9tat/\uD83D\uDD12", 1_000, "").getLocksList())
                .singleElement()
                .satisfies(lock -> assertThat(lock.getHolders(0).getOwner()).isEqualTo("me"));
        assertThat(list("", 1_000, "").getLocksCount()).isEqualTo(253);
        assertThat(list("orderz", 1_000, "").getLocksCount()).isZero();
    }

    @Test
    void aPageThatIsTooLongForAMessageGoesOnWhereItWasCut() {
        List<LockState> locks = new ArrayList<>();
        for (int i = 10; i < 50; i++) {
            locks.add(crowded("lock" + i));
        }
        ListReply cut = served.rpc.answers().list(new LockPage(locks, "", 1));
        assertThat(cut.getSerializedSize()).isBetween(1 << 20, 5 << 18);
        int told = cut.getLocksCount();
        assertThat(told).isLessThan(40);
        assertThat(PageToken.name(cut.getNextPageToken(), "lock")).isEqualTo("lock" + (9 + told));
        ListReply rest = served.rpc.answers().list(new LockPage(locks.subList(told, told + 5), "lock99", 1));
        assertThat(rest.getLocksCount()).isEqualTo(5);
        assertThat(PageToken.name(rest.getNextPageToken(), "lock"))
                .as("what was not cut goes on where the store said")
                .isEqualTo("lock99");
    }

    private static LockState crowded(String lock) {
        List<Waiter> waiters = new ArrayList<>();
        for (int i = 1; i <= 100; i++) {
            Request request = new Request(
                    new RequestId(new SessionId(1, 1), i),
                    1,
                    new GrantId(1, i),
                    dev.palisade.contract.Mode.EXCLUSIVE,
                    10_000,
                    0,
                    0,
                    "o".repeat(256),
                    "p".repeat(256));
            waiters.add(new Waiter(request, 1, 2, 2, Waiter.Lapse.NONE));
        }
        return new LockState(new LockName(lock), List.of(), List.of(), waiters, Tombstones.NONE, 0, 0, 0);
    }

    @Test
    void aBadPageTokenOrSizeOrPrefixIsMalformed() {
        unaryGranted(acquire("orders/1", 1, 0), 1);
        unaryGranted(acquire("orders/2", 2, 0), 1);
        String good = list("orders/", 1, "").getNextPageToken();
        assertThat(list("orders/", 1, good).getLocks(0).getLock()).isEqualTo("orders/2");
        List<ListRequest.Builder> wrong = List.of(
                ListRequest.newBuilder().setPageToken(good).setPrefix("other"),
                ListRequest.newBuilder().setPageToken(good + "A").setPrefix("orders/"),
                ListRequest.newBuilder().setPageToken("!").setPrefix("orders/"),
                ListRequest.newBuilder().setPageToken("AW9yZGVycy8x=").setPrefix("orders/"),
                ListRequest.newBuilder().setPageToken("A".repeat(10_000)),
                ListRequest.newBuilder().setPageSize(-1),
                ListRequest.newBuilder().setPageSize(1_001),
                ListRequest.newBuilder().setPrefix("p".repeat(257)),
                ListRequest.newBuilder().setPrefix("a\u0007"));
        for (ListRequest.Builder each : wrong) {
            assertThat(reason(catchThrowable(() -> served.unary().list(each.build()))))
                    .as(each.toString())
                    .isEqualTo(Reason.MALFORMED_REQUEST);
        }
    }
}
