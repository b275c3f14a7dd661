package dev.palisade.server.rpc;

import static dev.palisade.server.rpc.Served.acquire;
import static dev.palisade.server.rpc.Served.session;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.rpc.ErrorInfo;
import dev.palisade.contract.Reason;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.HistoryReply;
import dev.palisade.proto.v1.HistoryRequest;
import dev.palisade.proto.v1.KeepAlive;
import dev.palisade.proto.v1.LeaveRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ResumeRequest;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.server.store.MemoryStore;
import io.grpc.Metadata;
import io.grpc.Status;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The contract that the author of a client in another language reads in locks.proto and commands.md, sentence by sentence. */
class ForeignClientTest {
    private Served served;

    @BeforeEach
    void serve(@TempDir Path directory) throws Exception {
        served = new Served(directory);
    }

    @AfterEach
    void stop() {
        served.close();
    }

    private DescribeReply describe(String lock) {
        return served.unary()
                .describe(DescribeRequest.newBuilder().setLock(lock).build());
    }

    private AcquireReply unary(AcquireRequest.Builder request, long session) {
        return served.unary().acquire(request.setSessionId(session(session)).build());
    }

    private ListenableFuture<AcquireReply> waiting(AcquireRequest.Builder request, long session) {
        int before = describe(request.getLock()).getWaitersTotal();
        var call = LocksGrpc.newFutureStub(served.channel)
                .acquire(request.setSessionId(session(session)).build());
        await().until(() -> describe(request.getLock()).getWaitersTotal() > before);
        return call;
    }

    private void release(Granted granted, long session) {
        served.unary()
                .release(ReleaseRequest.newBuilder()
                        .setLock(granted.getLock())
                        .setGrantId(granted.getGrantId())
                        .setToken(granted.getToken())
                        .setSessionId(session(session))
                        .build());
    }

    private static RenewRequest renew(Granted granted, long session) {
        return RenewRequest.newBuilder()
                .setLock(granted.getLock())
                .setGrantId(granted.getGrantId())
                .setToken(granted.getToken())
                .setSessionId(session(session))
                .build();
    }

    private static Call.Builder ask(AcquireRequest.Builder request) {
        return Call.newBuilder().setAcquire(request);
    }

    private long remainingMillis(String lock) {
        return describe(lock).getHolders(0).getRemainingMillis();
    }

    private void timePasses(long millis) {
        served.nanos.addAndGet(millis * 1_000_000);
    }

    // ---- request ids ----

    @Test
    void requestIdAbove2To63IsRefusedAsItWasSent() {
        Granted held = unary(acquire("a", 1, 0), 1).getGranted();
        ResumeRequest.Builder resume = ResumeRequest.newBuilder()
                .setLock("a")
                .setGrantId(held.getGrantId())
                .setToken(held.getToken())
                .setSessionId(session(1))
                .setSessionGen(1)
                .setSequencer(held.getSequencer())
                .setRequestId(-1);
        LeaveRequest leave = LeaveRequest.newBuilder()
                .setLock("a")
                .setRequestId(-1)
                .setSessionId(session(1))
                .build();
        for (Throwable failure : List.of(
                catchThrowable(() -> unary(acquire("a", -1, 0), 1)),
                catchThrowable(() -> served.unary().leave(leave)),
                catchThrowable(() -> served.unary().resume(resume.build())))) {
            assertThat(Served.rejection(failure).reason()).isEqualTo(Reason.MALFORMED_REQUEST);
            assertThat(Served.rejection(failure).message()).contains("18446744073709551615", "9223372036854775807");
        }
        assertThat(unary(acquire("b", Long.MAX_VALUE, 0), 1).hasGranted()).isTrue();
    }

    @Test
    void requestIdOfAnotherLockIsAnotherRequest() {
        Served.Stream stream = served.stream(1, 1);
        Granted a = stream.granted(acquire("a", 1, 0).setTtlMillis(2_000));
        Granted b = stream.granted(acquire("b", 1, 0).setTtlMillis(2_000));
        assertThat(b.getGrantId()).isNotEqualTo(a.getGrantId());

        timePasses(1_500);
        stream.keepAlive(1);
        assertThat(remainingMillis("a")).as("both are renewed").isGreaterThan(1_500);
        assertThat(remainingMillis("b")).isGreaterThan(1_500);
        stream.breakOff();
        await().until(() ->
                describe("a").getHoldersTotal() == 0 && describe("b").getHoldersTotal() == 0);
    }

    @Test
    void waitsWithOneRequestIdEndEachByTheNameOfTheirLock() {
        Served.Stream holder = served.stream(1, 1);
        Granted a = holder.granted(acquire("a", 1, 0).setTtlMillis(300_000));
        holder.granted(acquire("b", 2, 0).setTtlMillis(300_000));
        Served.Stream waiter = served.stream(2, 1);
        waiter.ask(ask(acquire("a", 1, 60_000)));
        waiter.ask(ask(acquire("b", 1, 30_000)));
        holder.release(a);
        await().until(() -> waiter.events.stream().anyMatch(Event::hasOffered));
        timePasses(40_000);
        describe("b");
        await().untilAsserted(() -> assertThat(waiter.events.stream().filter(Event::hasWaitEnded))
                .extracting(event -> event.getWaitEnded().getLock())
                .contains("b"));
    }

    @Test
    void unaryWaitsWithOneRequestIdAreAnsweredEach() throws Exception {
        Granted a = unary(acquire("a", 1, 0), 1).getGranted();
        Granted b = unary(acquire("b", 2, 0), 1).getGranted();
        var first = waiting(acquire("a", 1, 60_000), 2);
        var second = waiting(acquire("b", 1, 60_000), 2);
        release(a, 1);
        release(b, 1);
        assertThat(first.get().getGranted().getLock()).isEqualTo("a");
        assertThat(second.get().getGranted().getLock()).isEqualTo("b");
    }

    @Test
    void repetitionThatAsksForSomethingElseIsRefusedAndChangesNothing() {
        Granted held = unary(acquire("a", 1, 0), 1).getGranted();
        Served.Stream waiter = served.stream(2, 1);
        waiter.ask(ask(acquire("a", 1, 60_000)));
        for (AcquireRequest.Builder other : List.of(
                acquire("a", 1, 60_000).setMode(dev.palisade.proto.v1.Mode.SHARED),
                acquire("a", 1, 60_000).setTtlMillis(9_000),
                acquire("a", 1, 60_000).setLockDelayMillis(1))) {
            Reply reply = waiter.ask(ask(other));
            assertThat(reply.getRejected().getReason()).isEqualTo("MALFORMED_REQUEST");
            assertThat(reply.getRejected().getMessage()).contains("request 1 was sent before with another");
        }
        assertThat(describe("a").getWaitersTotal()).isEqualTo(1);
        waiter.breakOff();
        await().until(() -> describe("a").getWaitersTotal() == 0);
        assertThat(describe("a").getHolders(0).getToken()).isEqualTo(held.getToken());
    }

    @Test
    void unknownModeIsNamed() {
        assertThat(Served.rejection(
                                catchThrowable(() -> unary(acquire("a", 1, 0).setModeValue(7), 1)))
                        .message())
                .startsWith("mode is 7");
        assertThat(Served.rejection(
                                catchThrowable(() -> unary(acquire("a", 1, 0).clearMode(), 1)))
                        .message())
                .startsWith("mode is not set");
    }

    @Test
    void holderAndHistoryNameTheSameGrant() {
        Granted held = unary(acquire("a", 1, 0), 1).getGranted();
        HistoryReply history =
                served.unary().history(HistoryRequest.newBuilder().setLock("a").build());
        assertThat(history.getEntries(0).getGrantId()).isEqualTo(held.getGrantId());
        assertThat(describe("a").getHolders(0).getGrantId()).isEqualTo(held.getGrantId());
        assertThat(unary(acquire("a", 1, 0), 2).getBusy().getHolder().getGrantId())
                .isEqualTo(held.getGrantId());
        assertThat(Served.reason(catchThrowable(() -> served.unary().renew(renew(held, 2)))))
                .as("and it takes the session id, too")
                .isEqualTo(Reason.NOT_HOLDER);
    }

    // ---- when a lease begins, and what a repetition does ----

    @Test
    void repeatedAcquireAcceptsTheOfferThatIsOut() {
        Granted first = unary(acquire("a", 1, 0), 1).getGranted();
        Served.Stream waiter = served.stream(2, 1);
        waiter.ask(ask(acquire("a", 5, 60_000)));
        release(first, 1);
        await().until(() -> !waiter.events.isEmpty());
        Granted offered = waiter.events.get(0).getOffered().getGranted();

        Granted granted = served.stream(2, 2).granted(acquire("a", 5, 50_000).setAgeMillis(10));

        assertThat(granted.getGrantId()).isEqualTo(offered.getGrantId());
        assertThat(granted.getToken()).isEqualTo(offered.getToken());
        assertThat(describe("a").getHoldersTotal()).isEqualTo(1);
    }

    @Test
    void leaseOfAUnaryAcquireThatWaitedBeginsWhenItIsGranted() throws Exception {
        Granted first = unary(acquire("a", 1, 0), 1).getGranted();
        var waited = waiting(acquire("a", 1, 60_000).setTtlMillis(5_000), 2);
        timePasses(4_000);
        release(first, 1);
        assertThat(waited.get().hasGranted()).isTrue();
        assertThat(remainingMillis("a")).isGreaterThan(4_000);
    }

    @Test
    void repeatedAcquireThatIsGrantedRenewsTheLease() {
        unary(acquire("a", 1, 0).setTtlMillis(5_000), 1);
        timePasses(4_000);
        assertThat(unary(acquire("a", 1, 0).setTtlMillis(5_000).setAgeMillis(4_000), 1)
                        .hasGranted())
                .isTrue();
        assertThat(remainingMillis("a")).isGreaterThan(4_000);
    }

    @Test
    void waitOfARepetitionCountsOnlyWhereTheFirstIsNotKnown() {
        unary(acquire("a", 1, 0).setTtlMillis(300_000), 1);
        Served.Stream waiter = served.stream(2, 1);
        waiter.ask(ask(acquire("a", 1, 20_000)));
        waiter.ask(ask(acquire("a", 1, 1_000).setAgeMillis(10)));
        timePasses(10_000);
        assertThat(describe("a").getWaitersTotal()).as("the first wait stands").isEqualTo(1);
        waiter.ask(ask(acquire("a", 1, 200_000).setAgeMillis(10_010)));
        timePasses(11_000);
        assertThat(describe("a").getWaitersTotal()).as("and is not made longer").isZero();

        waiter.ask(ask(acquire("a", 2, 1_000).setAgeMillis(10)));
        timePasses(2_000);
        assertThat(describe("a").getWaitersTotal()).isZero();
    }

    // ---- frames ----

    @Test
    void firstFrameMayCarryCallsAndAKeepAlive() {
        Served.Stream stream = served.new Stream();
        stream.send(ClientFrame.newBuilder()
                .setHello(dev.palisade.proto.v1.Hello.newBuilder()
                        .setSessionId(session(1))
                        .setSessionGen(1))
                .addCalls(ask(acquire("a", 1, 0)).setCallId(1))
                .setKeepAlive(KeepAlive.newBuilder().setKeepAliveId(1)));
        await().untilAsserted(() -> {
            assertThat(stream.frames.stream().filter(ServerFrame::hasWelcome)).hasSize(1);
            assertThat(stream.frames.stream().flatMap(frame -> frame.getRepliesList().stream()))
                    .extracting(reply -> reply.getAcquire().hasGranted())
                    .containsExactly(true);
            assertThat(stream.frames.stream().filter(ServerFrame::hasKeepAlive)).hasSize(1);
        });
        assertThat(stream.frames.get(0).hasWelcome()).isTrue();
    }

    @Test
    void keepAliveEachThirdOfTheShortestTtlKeepsTheLease() {
        Served.Stream stream = served.stream(1, 1);
        stream.granted(acquire("a", 1, 0).setTtlMillis(3_000));
        for (int id = 1; id <= 9; id++) {
            timePasses(1_000);
            assertThat(stream.keepAlive(id).getLostList()).isEmpty();
        }
        timePasses(3_000);
        int lost = stream.keepAlive(10).getLostCount();
        // The server may have noticed by itself before the keep-alive came, and then it has sent the event already.
        long noticed = stream.events.stream().filter(Event::hasLost).count();
        assertThat(lost + noticed).isEqualTo(1);
    }

    // ---- a caller without a stream ----

    @Test
    void unaryCallerResumesWithGenerationOneEachTime() {
        Granted held = unary(acquire("a", 1, 0).setTtlMillis(5_000), 1).getGranted();
        ResumeRequest resume = ResumeRequest.newBuilder()
                .setLock("a")
                .setGrantId(held.getGrantId())
                .setToken(held.getToken())
                .setSessionId(session(1))
                .setSessionGen(1)
                .build();
        assertThat(served.unary().resume(resume).getTtlMillis()).isEqualTo(5_000);
        assertThat(served.unary().resume(resume).getTtlMillis()).isEqualTo(5_000);
        assertThat(served.unary().renew(renew(held, 1)).getTtlMillis()).isEqualTo(5_000);
    }

    @Test
    void unaryHolderThatTheStoreForgotResumesWithItsSequencer() throws Exception {
        MemoryStore store = new MemoryStore();
        try (Served forgetful = new Served(store)) {
            Granted held = forgetful
                    .unary()
                    .acquire(acquire("a", 7, 0).setSessionId(session(1)).build())
                    .getGranted();
            store.losesAll(10_000);
            assertThat(Served.reason(catchThrowable(() -> forgetful.unary().renew(renew(held, 1)))))
                    .isEqualTo(Reason.NOT_HOLDER);
            forgetful
                    .unary()
                    .resume(ResumeRequest.newBuilder()
                            .setLock("a")
                            .setGrantId(held.getGrantId())
                            .setToken(held.getToken())
                            .setSessionId(session(1))
                            .setSessionGen(1)
                            .setSequencer(held.getSequencer())
                            .setRequestId(7)
                            .build());
            assertThat(forgetful.unary().renew(renew(held, 1)).getTtlMillis()).isEqualTo(10_000);
        }
    }

    // ---- refusals ----

    /** Read as a library without Palisade's classes reads it. */
    @Test
    void refusalHasItsReasonInTheStandardTrailer() throws Exception {
        Throwable failure = catchThrowable(() -> unary(acquire("", 1, 0), 1));
        Metadata trailers = Objects.requireNonNull(Status.trailersFromThrowable(failure));
        byte[] trailer = trailers.get(Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER));
        ErrorInfo info = com.google.rpc.Status.parseFrom(trailer).getDetails(0).unpack(ErrorInfo.class);
        assertThat(info.getReason()).isEqualTo("MALFORMED_REQUEST");
        assertThat(info.getDomain()).isEqualTo("palisade.dev");
        assertThat(Status.fromThrowable(failure).getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    }
}
