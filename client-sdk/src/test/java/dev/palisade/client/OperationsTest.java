package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.LockUnavailableException;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.BarrierReply;
import dev.palisade.proto.v1.BarrierRequest;
import dev.palisade.proto.v1.CheckSequencerReply;
import dev.palisade.proto.v1.CheckSequencerRequest;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.ExplainReply;
import dev.palisade.proto.v1.ExplainRequest;
import dev.palisade.proto.v1.ExplainedEvent;
import dev.palisade.proto.v1.ForceReleaseReply;
import dev.palisade.proto.v1.ForceReleaseRequest;
import dev.palisade.proto.v1.HistoryEntry;
import dev.palisade.proto.v1.HistoryReply;
import dev.palisade.proto.v1.HistoryRequest;
import dev.palisade.proto.v1.ListReply;
import dev.palisade.proto.v1.ListRequest;
import dev.palisade.proto.v1.ListedSession;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.ReportedRefusal;
import dev.palisade.proto.v1.RequestReleaseReply;
import dev.palisade.proto.v1.RequestReleaseRequest;
import dev.palisade.proto.v1.SessionsReply;
import dev.palisade.proto.v1.SessionsRequest;
import dev.palisade.proto.v1.StoreReply;
import dev.palisade.proto.v1.StoreRequest;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.time.Instant;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Operations against two servers, of which the first may be down. */
class OperationsTest {
    private final String running = "operations-" + UUID.randomUUID();
    private final Locks locks = new Locks();
    private final List<ManagedChannel> channels = new CopyOnWriteArrayList<>();
    private Server server = start();

    private PalisadeClient client = client("down:1,up:1", Duration.ofSeconds(5));

    private Server start() {
        try {
            return InProcessServerBuilder.forName(running)
                    .directExecutor()
                    .addService(locks)
                    .build()
                    .start();
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private PalisadeClient client(String addresses, Duration callTimeout) {
        return PalisadeClient.builder()
                .servers(addresses.split(","))
                .callTimeout(callTimeout)
                .channelFactory(address -> {
                    ManagedChannel channel = InProcessChannelBuilder.forName(
                                    address.startsWith("up") ? running : "nobody-" + running)
                            .build();
                    channels.add(channel);
                    return channel;
                })
                .build();
    }

    @BeforeEach
    void nothingWasCalledYet() {
        locks.requests.clear();
    }

    @AfterEach
    void stop() {
        client.close();
        channels.forEach(ManagedChannel::shutdownNow);
        server.shutdownNow();
    }

    /** A server that replies by a script and records its calls. */
    private static final class Locks extends LocksGrpc.LocksImplBase {
        final List<Object> requests = new CopyOnWriteArrayList<>();
        final AtomicInteger refusals = new AtomicInteger();
        volatile Reason refusal = Reason.STORE_UNAVAILABLE;
        volatile String retryAfterMillis = "50";
        volatile boolean breaks;
        volatile boolean silent;

        private <T> void answer(Object request, T reply, StreamObserver<T> out) {
            requests.add(request);
            if (silent && !(request instanceof DescribeRequest)) {
                return;
            }
            if (breaks && !(request instanceof DescribeRequest)) {
                out.onError(
                        Status.UNAVAILABLE.withDescription("connection reset").asRuntimeException());
            } else if (refusals.get() != 0 && !(request instanceof DescribeRequest)) {
                refusals.decrementAndGet();
                out.onError(Rejections.toStatus(
                        new Rejection(refusal, "scripted", Map.of(Rejection.RETRY_AFTER_MILLIS, retryAfterMillis))));
            } else {
                out.onNext(reply);
                out.onCompleted();
            }
        }

        @Override
        public void describe(DescribeRequest request, StreamObserver<DescribeReply> out) {
            answer(
                    request,
                    DescribeReply.newBuilder().setLock(request.getLock()).build(),
                    out);
        }

        @Override
        public void list(ListRequest request, StreamObserver<ListReply> out) {
            ListReply.Builder reply = ListReply.newBuilder();
            switch (request.getPageToken()) {
                case "" ->
                    reply.addLocks(DescribeReply.newBuilder().setLock("a1"))
                            .addLocks(DescribeReply.newBuilder().setLock("a2"))
                            .setNextPageToken("empty");
                case "empty" -> reply.setNextPageToken("last");
                case "stuck" -> reply.setNextPageToken("stuck");
                default -> reply.addLocks(DescribeReply.newBuilder().setLock("a3"));
            }
            if (request.getPrefix().equals("stuck")) {
                reply.clear().setNextPageToken("stuck");
            }
            answer(request, reply.build(), out);
        }

        @Override
        public void sessions(SessionsRequest request, StreamObserver<SessionsReply> out) {
            ListedSession.Builder session = ListedSession.newBuilder()
                    .setSession("be45cb26")
                    .setOwner("one")
                    .setPrincipal("user one")
                    .setSessionGen(2)
                    .setConnected(true)
                    .setConnectedAtEpochMillis(1_800_000_000_000L)
                    .setHeardMillisAgo(40)
                    .setLeases(3)
                    .setWaiting(4)
                    .setKeepLeasesOnDisconnect(true);
            SessionsReply.Builder reply = SessionsReply.newBuilder();
            if (request.getPageToken().isEmpty()) {
                reply.addSessions(session).setNextPageToken("more");
            } else {
                reply.addSessions(session.clear().setSession("ffffffff"));
            }
            answer(request, reply.build(), out);
        }

        @Override
        public void store(StoreRequest request, StreamObserver<StoreReply> out) {
            StoreReply.Builder reply = StoreReply.newBuilder()
                    .setKind("redis")
                    .setWhere("10.0.0.1:6379")
                    .setSinceEpochMillis(2_000)
                    .setWhy("no primary");
            reply.getEpochBuilder()
                    .setBaseToken(5)
                    .setBeganAtEpochMillis(1_000)
                    .setWhy("the primary changed")
                    .setRecoveringMillis(300)
                    .setAheadMillis(7);
            reply.setStandby(true)
                    .getLogBuilder()
                    .setActive("lock-1:7600")
                    .setWriter("6b1f")
                    .setBatch(812)
                    .setTerm(3)
                    .setClaimMillis(2_000)
                    .setClaimRemainingMillis(1_700)
                    .setTakenOverAtEpochMillis(4_000)
                    .setTakenOverWhy("STOPPED")
                    .setTakenOverFrom("lock-2:7600")
                    .addStandbysBuilder()
                    .setAddress("lock-2:7600")
                    .setSinceEpochMillis(5_000)
                    .setLastSeenEpochMillis(6_000);
            answer(request, reply.build(), out);
        }

        @Override
        public void explain(ExplainRequest request, StreamObserver<ExplainReply> out) {
            answer(
                    request,
                    ExplainReply.newBuilder()
                            .setLock("a")
                            .setToken(request.getToken())
                            .setAtEpochMillis(2_000)
                            .setState("EXPIRED")
                            .setSummary("s")
                            .addEvents(ExplainedEvent.newBuilder()
                                    .setAtEpochMillis(1_000)
                                    .setWhat("REFUSED")
                                    .setToken(7)
                                    .setText("t")
                                    .setRefusal(ReportedRefusal.newBuilder()
                                            .setGuard("g")
                                            .setPrincipal("user g")
                                            .setResource("r")
                                            .setReason("TOKEN_STALE")
                                            .setPresentedToken(7)
                                            .setCount(3)))
                            .addUnknown("u")
                            .addAdvice("d")
                            .build(),
                    out);
        }

        @Override
        public void history(HistoryRequest request, StreamObserver<HistoryReply> out) {
            HistoryEntry queued = HistoryEntry.newBuilder()
                    .setAtEpochMillis(1_000)
                    .setWhat("QUEUED")
                    .setGrantId(ByteString.copyFrom(new byte[16]))
                    .setOwner("me")
                    .build();
            answer(
                    request,
                    HistoryReply.newBuilder()
                            .addEntries(queued)
                            .addEntries(queued.toBuilder()
                                    .setWhat("OFFERED")
                                    .setToken(7)
                                    .setCause("WORD")
                                    .setAfterGap(true))
                            .build(),
                    out);
        }

        @Override
        public void requestRelease(RequestReleaseRequest request, StreamObserver<RequestReleaseReply> out) {
            answer(request, RequestReleaseReply.newBuilder().setHoldersAsked(3).build(), out);
        }

        @Override
        public void forceRelease(ForceReleaseRequest request, StreamObserver<ForceReleaseReply> out) {
            answer(request, ForceReleaseReply.newBuilder().setReleased(2).build(), out);
        }

        @Override
        public void checkSequencer(CheckSequencerRequest request, StreamObserver<CheckSequencerReply> out) {
            answer(request, CheckSequencerReply.newBuilder().setAlive(true).build(), out);
        }

        @Override
        public void barrier(BarrierRequest request, StreamObserver<BarrierReply> out) {
            answer(request, BarrierReply.newBuilder().setIssuer("i").setToken(9).build(), out);
        }
    }

    @Test
    void sessionsAreListedPageByPageWithEverythingTheServerSaysOfThem() {
        assertThat(client.operations().sessions())
                .containsExactly(
                        new SessionDescription(
                                "be45cb26",
                                "one",
                                "user one",
                                2,
                                true,
                                Instant.ofEpochMilli(1_800_000_000_000L),
                                Duration.ofMillis(40),
                                3,
                                4,
                                true),
                        new SessionDescription(
                                "ffffffff", "", "", 0, false, Instant.EPOCH, Duration.ZERO, 0, 0, false));
        assertThat(locks.requests)
                .containsExactly(
                        SessionsRequest.getDefaultInstance(),
                        SessionsRequest.newBuilder().setPageToken("more").build());
    }

    @Test
    void storeDescriptionHasEveryFieldOfTheReply() throws InterruptedException {
        StoreDescription.Epoch epoch = new StoreDescription.Epoch(
                5, Instant.ofEpochSecond(1), "the primary changed", Duration.ofMillis(300), Duration.ofMillis(7));
        assertThat(client.operations().store())
                .isEqualTo(new StoreDescription(
                        "redis",
                        "10.0.0.1:6379",
                        false,
                        Instant.ofEpochSecond(2),
                        "no primary",
                        Optional.of(epoch),
                        Optional.of(new StoreDescription.SharedLog(
                                "lock-1:7600",
                                "6b1f",
                                812,
                                3,
                                Duration.ofSeconds(2),
                                Duration.ofMillis(1_700),
                                Optional.of(new StoreDescription.Takeover(
                                        Instant.ofEpochSecond(4), "STOPPED", Optional.of("lock-2:7600"))),
                                List.of(new StoreDescription.Standby(
                                        "lock-2:7600", Instant.ofEpochSecond(5), Instant.ofEpochSecond(6))))),
                        true));
    }

    @Test
    void eachCallGoesToAServerThatIsUp() throws InterruptedException {
        Operations operations = client.operations();
        assertThat(operations.history("a"))
                .containsExactly(
                        new Operations.HistoryEntry(
                                Instant.ofEpochSecond(1),
                                "QUEUED",
                                Optional.empty(),
                                new GrantId(0, 0),
                                "me",
                                "",
                                "",
                                false),
                        new Operations.HistoryEntry(
                                Instant.ofEpochSecond(1),
                                "OFFERED",
                                Optional.of(new FencingToken(7)),
                                new GrantId(0, 0),
                                "me",
                                "",
                                "WORD",
                                true));
        assertThat(operations.explain("a", OptionalLong.empty()))
                .isEqualTo(new LockExplanation(
                        new LockName("a"),
                        Optional.empty(),
                        Instant.ofEpochSecond(2),
                        "EXPIRED",
                        "s",
                        List.of(new LockExplanation.Event(
                                Instant.ofEpochSecond(1),
                                "REFUSED",
                                Optional.of(new FencingToken(7)),
                                "t",
                                Optional.of(new LockExplanation.Refusal(
                                        "g", "user g", "r", "TOKEN_STALE", new FencingToken(7), Optional.empty(), 3)))),
                        List.of("u"),
                        List.of("d")));
        assertThat(operations.explain("a", OptionalLong.of(9)).token()).contains(new FencingToken(9));
        assertThatThrownBy(() -> operations.explain("a", OptionalLong.of(0)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(operations.requestRelease("a", "ops", "why")).isEqualTo(3);
        assertThat(operations.forceRelease("a", OptionalLong.of(5), "ops", "why"))
                .isEqualTo(2);
        assertThat(operations.forceRelease("a", OptionalLong.empty(), "ops", "why"))
                .isEqualTo(2);
        assertThat(operations.isAlive(SignedSequencer.of(new byte[] {1, 2}))).isTrue();
        assertThat(operations.barrier("a")).isEqualTo(new Operations.Barrier("i", new FencingToken(9)));
        ForceReleaseRequest all = ForceReleaseRequest.newBuilder()
                .setLock("a")
                .setBy("ops")
                .setWhy("why")
                .build();
        assertThat(locks.requests)
                .contains(
                        HistoryRequest.newBuilder().setLock("a").build(),
                        RequestReleaseRequest.newBuilder()
                                .setLock("a")
                                .setBy("ops")
                                .setWhy("why")
                                .build(),
                        all,
                        all.toBuilder().setToken(5).build(),
                        CheckSequencerRequest.newBuilder()
                                .setSequencer(ByteString.copyFrom(new byte[] {1, 2}))
                                .build(),
                        BarrierRequest.newBuilder().setLock("a").build());
    }

    @Test
    void pagesAreRequestedWhenNeededAndAnEmptyPageIsNotTheLast() {
        Iterator<LockDescription> listed = client.operations().list("a").iterator();
        assertThat(listed.next().lock().value()).isEqualTo("a1");
        assertThat(listed.next().lock().value()).isEqualTo("a2");
        assertThat(locks.requests).hasSize(1);
        assertThat(listed.next().lock().value()).isEqualTo("a3");
        assertThat(listed.hasNext()).isFalse();
        assertThat(locks.requests)
                .extracting(request -> ((ListRequest) request).getPageToken())
                .containsExactly("", "empty", "last");
        assertThatThrownBy(() -> client.operations().list("stuck").count()).isInstanceOf(RejectedException.class);
    }

    @Test
    void transientRejectionIsRetriedAndAnyOtherIsThrown() throws InterruptedException {
        locks.refusals.set(2);
        assertThat(client.operations().barrier("a").token()).isEqualTo(new FencingToken(9));
        assertThat(locks.requests).hasSize(3);
        locks.refusal = Reason.SEQUENCER_INVALID;
        locks.refusals.set(1);
        assertThatThrownBy(() -> client.operations().isAlive(SignedSequencer.of(new byte[] {1})))
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.SEQUENCER_INVALID));
    }

    @Test
    void closeEndsThePauseBeforeARepetition() throws Exception {
        PalisadeClient other = client("up:1", Duration.ofMinutes(1));
        locks.refusals.set(-1);
        locks.retryAfterMillis = "10000";
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        Thread caller = new Thread(() -> {
            try {
                var unused = other.operations().store();
            } catch (RuntimeException | InterruptedException e) {
                thrown.complete(e);
            }
        });
        caller.start();
        await().until(() -> caller.getState() == Thread.State.TIMED_WAITING && !locks.requests.isEmpty());
        other.close();
        assertThat(thrown.get(60, TimeUnit.SECONDS)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aForcedReleaseThatCloseCutsOffIsUnknown() throws Exception {
        PalisadeClient other = client("up:1", Duration.ofMinutes(1));
        locks.silent = true;
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        new Thread(() -> {
                    try {
                        var unused = other.operations().forceRelease("a", OptionalLong.empty(), "ops", "why");
                    } catch (RuntimeException | InterruptedException e) {
                        thrown.complete(e);
                    }
                })
                .start();
        await().until(() -> locks.requests.stream().anyMatch(request -> request instanceof ForceReleaseRequest));
        other.close();
        assertThat(thrown.get(60, TimeUnit.SECONDS))
                .isInstanceOfSatisfying(
                        LockUnavailableException.class,
                        e -> assertThat(e.rejection().reason()).isEqualTo(Reason.OUTCOME_UNKNOWN));
    }

    @Test
    void aForcedReleaseIsNeverSentTwice() {
        locks.breaks = true;
        assertThatThrownBy(() -> client.operations().forceRelease("a", OptionalLong.empty(), "ops", "why"))
                .isInstanceOfSatisfying(
                        LockUnavailableException.class,
                        e -> assertThat(e.rejection().reason()).isEqualTo(Reason.OUTCOME_UNKNOWN));
        assertThat(locks.requests)
                .filteredOn(request -> request instanceof ForceReleaseRequest)
                .hasSize(1);
    }

    @Test
    void whatIsWrongIsNotSent() {
        Operations operations = client.operations();
        assertThatThrownBy(() -> operations.forceRelease("a", OptionalLong.of(0), "ops", "why"))
                .as("0 is every lease on the wire")
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> operations.forceRelease("a", OptionalLong.empty(), "", "why"))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> operations.requestRelease("a", "ops", ""))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> operations.history("")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> operations.list("p".repeat(257))).isInstanceOf(IllegalArgumentException.class);
        assertThat(locks.requests).isEmpty();
    }

    @Test
    void withoutAServerItEndsInTimeAndSaysWhichLock() {
        try (PalisadeClient alone = client("down:1", Duration.ofMillis(300))) {
            long from = System.nanoTime();
            assertThatThrownBy(() -> alone.operations().requestRelease("orders", "ops", "why"))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("orders")
                    .hasMessageContaining("down:1");
            assertThat(Duration.ofNanos(System.nanoTime() - from)).isLessThan(Duration.ofSeconds(5));
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> alone.operations().barrier("a")).isInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).as("the flag").isFalse();
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> alone.operations().list("a").count()).isInstanceOf(CancellationException.class);
            assertThat(Thread.interrupted())
                    .as("the flag, which a stream keeps")
                    .isTrue();
        }
        client.close();
        assertThatThrownBy(() -> client.operations().barrier("a")).isInstanceOf(IllegalStateException.class);
    }
}
