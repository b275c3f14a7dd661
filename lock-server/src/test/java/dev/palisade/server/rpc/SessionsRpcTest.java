package dev.palisade.server.rpc;

import static dev.palisade.server.rpc.Served.acquire;
import static dev.palisade.server.rpc.Served.reason;
import static dev.palisade.server.rpc.Served.session;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SessionId;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.ListRequest;
import dev.palisade.proto.v1.ListedSession;
import dev.palisade.proto.v1.SessionsReply;
import dev.palisade.proto.v1.SessionsRequest;
import dev.palisade.server.store.MemoryStore;
import dev.palisade.server.store.StoreFailure;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who is connected, as operators see it. */
class SessionsRpcTest {
    private Served served;

    @BeforeEach
    void serve(@TempDir Path directory) throws Exception {
        served = new Served(directory);
    }

    @AfterEach
    void stop() {
        served.close();
    }

    private SessionsReply page(int size, String token) {
        return served.unary()
                .sessions(SessionsRequest.newBuilder()
                        .setPageSize(size)
                        .setPageToken(token)
                        .build());
    }

    private List<ListedSession> all() {
        return page(1_000, "").getSessionsList();
    }

    private ListedSession only() {
        assertThat(all()).hasSize(1);
        return all().get(0);
    }

    private void stopTime() {
        served.running = false;
        // Past what had passed by itself: the store's time never goes back.
        served.nanos.addAndGet(60_000_000_000L);
    }

    private static String shortened(long session) {
        return SessionId.of(session(session).toByteArray()).shortened();
    }

    private DescribeReply describe(String lock) {
        return served.unary()
                .describe(DescribeRequest.newBuilder().setLock(lock).build());
    }

    @Test
    void aSessionIsToldWithWhatItHasAndSinceWhenAndNeverByItsId() {
        stopTime();
        long start = served.store.nowMillis();
        Served.Stream holder = served.stream(1, 1);
        holder.granted(acquire("a", 1, 0));
        holder.granted(acquire("b", 2, 0));
        Served.Stream waiter = served.stream(2, 1);
        waiter.ask(Call.newBuilder().setAcquire(acquire("a", 1, 60_000)));
        served.nanos.addAndGet(250_000_000L);

        assertThat(all())
                .containsExactlyInAnyOrder(
                        ListedSession.newBuilder()
                                .setSession(shortened(1))
                                .setOwner("client 1")
                                .setSessionGen(1)
                                .setConnected(true)
                                .setConnectedAtEpochMillis(start)
                                .setHeardMillisAgo(250)
                                .setLeases(2)
                                .build(),
                        ListedSession.newBuilder()
                                .setSession(shortened(2))
                                .setOwner("client 2")
                                .setSessionGen(1)
                                .setConnected(true)
                                .setConnectedAtEpochMillis(start)
                                .setHeardMillisAgo(250)
                                .setWaiting(1)
                                .build());
        holder.keepAlive(1);
        assertThat(all())
                .filteredOn(session -> session.getSession().equals(shortened(1)))
                .allMatch(session -> session.getHeardMillisAgo() == 0)
                .allMatch(session -> session.getConnectedAtEpochMillis() == start);
        assertThat(HexFormat.of().formatHex(page(0, "").toByteArray()))
                .doesNotContain(SessionId.of(session(1).toByteArray()).toString());
    }

    @Test
    void holdersAndWaitersAreToldWithTheShortIdOfTheirSession() {
        served.stream(1, 1).granted(acquire("a", 1, 0));
        served.stream(2, 1).ask(Call.newBuilder().setAcquire(acquire("a", 1, 60_000)));

        DescribeReply lock = describe("a");
        assertThat(lock.getHolders(0).getSession()).isEqualTo(shortened(1));
        assertThat(lock.getWaiters(0).getSession()).isEqualTo(shortened(2));
        DescribeReply listed =
                served.unary().list(ListRequest.getDefaultInstance()).getLocks(0);
        assertThat(listed.getHolders(0).getSession()).isEqualTo(shortened(1));
        assertThat(served.stream(3, 1)
                        .ask(Call.newBuilder().setAcquire(acquire("a", 1, 0)))
                        .getAcquire()
                        .getBusy()
                        .getHolder()
                        .getSession())
                .isEqualTo(shortened(1));
    }

    /** Its empty list would hide the sessions of the active server. */
    @Test
    void standbyRejectsListOfSessions() throws Exception {
        MemoryStore store = new MemoryStore();
        store.standsBy(StoreFailure.notActive("lock server b:1 is active", "b:1", false));
        try (Served standby = new Served(store)) {
            Rejection rejection = Served.rejection(
                    catchThrowable(() -> standby.unary().sessions(SessionsRequest.getDefaultInstance())));
            assertThat(rejection.reason()).isEqualTo(Reason.NOT_ACTIVE);
            assertThat(rejection.metadata()).containsEntry(Rejection.ACTIVE, "b:1");
            store.standsBy(null);
            assertThat(standby.unary()
                            .sessions(SessionsRequest.getDefaultInstance())
                            .getSessionsList())
                    .isEmpty();
        }
    }

    @Test
    void aBrokenStreamWithALeaseIsInGraceAndThenGone() {
        Served.Stream stream = served.stream(1, 1);
        stream.granted(acquire("a", 1, 0));
        stream.breakOff();
        await().until(() -> !only().getConnected());
        assertThat(only().getLeases()).isEqualTo(1);
        await().untilAsserted(() -> assertThat(all()).isEmpty());
        await().until(() -> describe("a").getHoldersTotal() == 0);
    }

    @Test
    void whatEndsWhileItsSessionIsInGraceIsNotCountedForItAnyMore() {
        stopTime();
        Served.Stream stream = served.stream(1, 1);
        stream.granted(acquire("a", 1, 0).setTtlMillis(1_000));
        stream.granted(acquire("b", 2, 0));
        stream.breakOff();
        await().until(() -> !only().getConnected());
        served.nanos.addAndGet(1_000_000_000L);
        assertThat(describe("a").getHoldersTotal()).isZero();
        // The sessions hear of it after whoever asked has the answer.
        await().untilAsserted(() -> assertThat(all()).allMatch(session -> session.getLeases() == 1));
    }

    @Test
    void aStreamThatHadNothingIsForgottenWhenItEnds() {
        Served.Stream stream = served.stream(1, 1);
        await().until(() -> all().size() == 1);
        stream.out.onCompleted();
        assertThat(Served.get(stream.ended)).isNull();
        assertThat(all()).isEmpty();
    }

    @Test
    void aSessionThatComesBackIsThereOnceWithItsNewestStream() {
        Served.Stream stream = served.stream(1, 1);
        var held = stream.granted(acquire("a", 1, 0));
        Served.Stream newer = served.stream(1, 2);
        newer.resume(held);
        assertThat(only().getSessionGen()).isEqualTo(2);
        assertThat(only().getLeases()).isEqualTo(1);
        stream.failure();
        newer.breakOff();
        await().until(() -> !only().getConnected());
        served.stream(1, 3).resume(held);
        assertThat(only().getSessionGen()).isEqualTo(3);
        assertThat(only().getConnected()).isTrue();
    }

    @Test
    void whoMakesOnlyUnaryCallsIsNotListedButHasAShortIdAtTheLock() {
        served.unary().acquire(acquire("a", 1, 0).setSessionId(session(7)).build());
        assertThat(all()).isEmpty();
        assertThat(describe("a").getHolders(0).getSession()).isEqualTo(shortened(7));
    }

    @Test
    void pagesTellEverySessionOnce() {
        List<String> expected = new ArrayList<>();
        for (int i = 1; i <= 20; i++) {
            served.stream(i, 1).granted(acquire("lock " + i, 1, 0));
            expected.add("client " + i);
        }
        List<String> told = new ArrayList<>();
        String token = "";
        int pages = 0;
        do {
            SessionsReply page = page(6, token);
            assertThat(page.getSessionsCount()).isBetween(1, 6);
            page.getSessionsList().forEach(session -> told.add(session.getOwner()));
            token = page.getNextPageToken();
            pages++;
        } while (!token.isEmpty());
        assertThat(pages).isEqualTo(4);
        assertThat(told).containsExactlyInAnyOrderElementsOf(expected);
        assertThat(page(20, "").getNextPageToken()).isEmpty();
    }

    @Test
    void aBadPageTokenOrSizeIsMalformed() {
        served.stream(1, 1).granted(acquire("a", 1, 0));
        served.stream(2, 1).granted(acquire("b", 1, 0));
        String good = page(1, "").getNextPageToken();
        assertThat(page(1, good).getSessionsCount()).isEqualTo(1);
        String ofLocks = served.unary()
                .list(ListRequest.newBuilder().setPageSize(1).build())
                .getNextPageToken();
        assertThat(ofLocks).isNotEmpty();
        for (String token :
                List.of(good + "A", "!", "AQ", "A".repeat(10_000), ofLocks, PageToken.afterSession("abc"))) {
            assertThat(reason(catchThrowable(() -> page(1, token)))).isEqualTo(Reason.MALFORMED_REQUEST);
        }
        assertThat(reason(catchThrowable(() -> page(1_001, "")))).isEqualTo(Reason.MALFORMED_REQUEST);
        assertThat(reason(catchThrowable(() -> served.unary()
                        .list(ListRequest.newBuilder().setPageToken(good).build()))))
                .isEqualTo(Reason.MALFORMED_REQUEST);
    }

    /** What an operator finds in the log; an owner cannot write lines of its own. */
    @Test
    void whatHappensToASessionIsInTheLogWithItsCountsAndNeverItsId() {
        Served.Stream stream = served.stream(1, 1);
        stream.granted(acquire("a", 1, 0));
        stream.breakOff();
        await().until(() -> describe("a").getHoldersTotal() == 0);
        await().untilAsserted(() -> assertThat(served.events)
                .containsSubsequence(
                        "event=session_opened session=" + shortened(1) + " owner=\"client 1\" generation=1",
                        "event=session_broken session=" + shortened(1)
                                + " owner=\"client 1\" leases=1 waiting=0 grace_ms=" + Served.GRACE_MILLIS
                                + " cause=CONNECTION_BROKE",
                        "event=session_abandoned session=" + shortened(1)
                                + " owner=\"client 1\" leases=1 waiting=0 keeps_leases=false cause=CONNECTION_BROKE")
                .anyMatch(line -> line.startsWith("event=lease_abandoned lock=a token=")
                        && line.contains(" session=" + shortened(1))));
        assertThat(served.events)
                .noneMatch(line ->
                        line.contains(SessionId.of(session(1).toByteArray()).toString()));
    }

    @Test
    void refusalsThatMeanABugAreInTheLogAndOrdinaryAnswersAreNot() {
        served.stream(1, 1).granted(acquire("a", 1, 0));
        served.stream(2, 1).ask(Call.newBuilder().setAcquire(acquire("a", 1, 0)));
        served.stream(2, 2).ask(Call.newBuilder().setAcquire(acquire("x".repeat(257), 2, 0)));
        assertThat(catchThrowable(() -> page(1_001, ""))).isNotNull();
        assertThat(served.events)
                .filteredOn(line -> line.startsWith("event=refused"))
                .hasSize(2)
                .allMatch(line -> line.startsWith("event=refused reason=MALFORMED_REQUEST message=\""));
    }
}
