package dev.palisade.server.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.nimbusds.jose.jwk.ECKey;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.Hello;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ResumeRequest;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.server.access.AccessControl;
import dev.palisade.server.access.AccessFile;
import dev.palisade.server.access.JwtAuthenticator;
import dev.palisade.server.access.JwtIssuer;
import dev.palisade.server.access.JwtSettings;
import dev.palisade.server.access.Policy;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls and streams of clients with a JWT; the test runs the thread that verifies, and the clock. */
class JwtAccessTest {
    private static final ECKey KEY = JwtIssuer.ec("k1");
    private static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    @TempDir
    Path folder;

    private final AtomicLong seconds = new AtomicLong(1_800_000_000);
    private final ConcurrentLinkedQueue<Runnable> held = new ConcurrentLinkedQueue<>();
    private volatile boolean holds;
    private AccessControl access;
    private Served served;

    @BeforeEach
    void serve() throws Exception {
        Path policy = Files.writeString(
                folder.resolve("policy"), "allow jwt:alice * *\nallow jwt:bob acquire,describe jobs/*\n");
        Path jwks = Files.writeString(folder.resolve("jwks.json"), JwtIssuer.jwks(KEY));
        JwtAuthenticator jwts = JwtAuthenticator.open(
                new JwtSettings(JwtIssuer.ISSUER, JwtIssuer.AUDIENCE, jwks.toString(), "sub", Duration.ZERO),
                task -> {},
                task -> {
                    if (holds) {
                        held.add(task);
                    } else {
                        new Thread(task, "verifies").start();
                    }
                },
                System::nanoTime,
                this::now);
        access = new AccessControl(new AccessFile<>(policy, false, Policy::parse), null, jwts, () -> 1);
        served = new Served(folder.resolve("locks"), access);
    }

    @AfterEach
    void close() {
        served.close();
    }

    private Instant now() {
        return Instant.ofEpochSecond(seconds.get());
    }

    private String token(String subject, long lastsSeconds) {
        return JwtIssuer.signed(
                KEY, JwtIssuer.claims(now().plusSeconds(lastsSeconds)).subject(subject));
    }

    private Channel with(String token) {
        Metadata headers = new Metadata();
        headers.put(AUTHORIZATION, "Bearer " + token);
        return ClientInterceptors.intercept(served.channel, MetadataUtils.newAttachHeadersInterceptor(headers));
    }

    private LocksGrpc.LocksBlockingStub stub(String token) {
        return LocksGrpc.newBlockingStub(with(token)).withDeadlineAfter(60, TimeUnit.SECONDS);
    }

    private static DescribeRequest describe(String lock) {
        return DescribeRequest.newBuilder().setLock(lock).build();
    }

    private static Rejection refusal(StatusRuntimeException failure) {
        return Rejections.ofThrowable(failure).orElseThrow(() -> new AssertionError("no ErrorInfo", failure));
    }

    @Test
    void theSubjectHasTheRightsOfThePolicy() {
        assertThat(stub(token("bob", 600)).describe(describe("jobs/1")).getLock())
                .isEqualTo("jobs/1");
        assertThatThrownBy(() -> stub(token("bob", 600)).describe(describe("other")))
                .isInstanceOfSatisfying(StatusRuntimeException.class, e -> {
                    assertThat(refusal(e).reason()).isEqualTo(Reason.PERMISSION_DENIED);
                    assertThat(refusal(e).message()).startsWith("jwt:bob may not describe");
                });
    }

    @Test
    void aCallWaitsForItsVerificationAndOthersDoNot() throws Exception {
        String known = token("alice", 600);
        var unused = stub(known).describe(describe("jobs/1"));
        holds = true;
        var waiting = LocksGrpc.newFutureStub(with(token("bob", 600))).describe(describe("jobs/2"));
        var cancelled = LocksGrpc.newFutureStub(with(token("bob", 601))).describe(describe("jobs/3"));
        Awaitility.await().until(() -> held.size() == 2);
        assertThat(stub(known).describe(describe("jobs/1")).getLock())
                .as("its token is cached")
                .isEqualTo("jobs/1");
        assertThat(waiting.isDone()).isFalse();
        cancelled.cancel(true);
        held.forEach(Runnable::run);
        assertThat(waiting.get(60, TimeUnit.SECONDS).getLock()).isEqualTo("jobs/2");
    }

    @Test
    void aRefusalIsOneLineWithoutTheToken() {
        String expired = token("alice", -1);
        List<String> wrong = List.of(expired, "palisade_" + "A".repeat(43), "garbled", expired.replace('.', ':'));
        for (String token : wrong) {
            assertThatThrownBy(() -> stub(token).describe(describe("jobs/1")))
                    .isInstanceOfSatisfying(
                            StatusRuntimeException.class,
                            e -> assertThat(refusal(e).reason()).isEqualTo(Reason.UNAUTHENTICATED));
        }
        assertThat(served.events)
                .hasSize(wrong.size())
                .allMatch(line -> line.lines().count() == 1)
                .noneMatch(line -> line.contains("eyJ") || line.contains("garbled") || line.contains("AAAA"));
        assertThat(served.events.get(0)).contains("reason=UNAUTHENTICATED", "Expired JWT");
    }

    @Test
    void aStreamEndsWithItsTokenAndResumesWithTheNext() {
        CompletableFuture<Rejection> ended = new CompletableFuture<>();
        CompletableFuture<Granted> granted = new CompletableFuture<>();
        Call acquire = Call.newBuilder()
                .setCallId(1)
                .setAcquire(Served.acquire("jobs/1", 1, 0).setTtlMillis(60_000))
                .build();
        open(
                token("alice", 100),
                1,
                acquire,
                frame -> {
                    frame.getRepliesList()
                            .forEach(
                                    reply -> granted.complete(reply.getAcquire().getGranted()));
                },
                ended);
        Granted lease = Served.get(granted);
        seconds.addAndGet(99);
        served.rpc.accessChanged();
        assertThat(ended).isNotDone();
        seconds.addAndGet(1);
        served.rpc.accessChanged();
        assertThat(Served.get(ended).reason()).isEqualTo(Reason.SESSION_UNKNOWN);
        assertThat(Served.get(ended).message())
                .isEqualTo("the JWT of jwt:alice expired; open a newer stream with a new one and resume");

        Call resume = Call.newBuilder()
                .setCallId(2)
                .setResume(ResumeRequest.newBuilder()
                        .setLock("jobs/1")
                        .setGrantId(lease.getGrantId())
                        .setToken(lease.getToken()))
                .build();
        CompletableFuture<Reply> resumed = new CompletableFuture<>();
        open(
                token("alice", 100),
                2,
                resume,
                frame -> frame.getRepliesList().forEach(resumed::complete),
                new CompletableFuture<>());
        assertThat(Served.get(resumed).hasResume()).as("%s", resumed).isTrue();
    }

    @Test
    void waitingCallEndsWithItsToken() {
        Granted first = held("jobs/1");
        assertThat(first.getToken()).isPositive();
        var waiting = LocksGrpc.newFutureStub(with(token("bob", 10)))
                .acquire(Served.acquire("jobs/1", 2, 60_000)
                        .setSessionId(Served.session(2))
                        .build());
        String alice = token("alice", 600);
        Awaitility.await().until(() -> stub(alice).describe(describe("jobs/1")).getWaitersTotal() == 1);
        seconds.addAndGet(9);
        served.rpc.accessChanged();
        assertThat(waiting.isDone()).isFalse();
        seconds.addAndGet(1);
        served.rpc.accessChanged();
        assertUnauthenticated(waiting, "the JWT of jwt:bob expired while it waited");
        Awaitility.await().until(() -> stub(alice).describe(describe("jobs/1")).getWaitersTotal() == 0);
    }

    @Test
    void streamsAndWaitsEndWithTheirKey() throws Exception {
        Granted first = held("jobs/1");
        assertThat(first.getToken()).isPositive();
        var waiting = LocksGrpc.newFutureStub(with(token("bob", 600)))
                .acquire(Served.acquire("jobs/1", 2, 60_000)
                        .setSessionId(Served.session(2))
                        .build());
        CompletableFuture<Rejection> ended = new CompletableFuture<>();
        CompletableFuture<Reply> replied = new CompletableFuture<>();
        Call acquire = Call.newBuilder()
                .setCallId(1)
                .setAcquire(Served.acquire("jobs/2", 1, 0))
                .build();
        open(token("bob", 600), 1, acquire, frame -> frame.getRepliesList().forEach(replied::complete), ended);
        assertThat(Served.get(replied).getAcquire().hasGranted()).isTrue();
        String alice = token("alice", 600);
        Awaitility.await().until(() -> stub(alice).describe(describe("jobs/1")).getWaitersTotal() == 1);
        Files.writeString(folder.resolve("jwks.json"), JwtIssuer.jwks(JwtIssuer.ec("k1")));
        access.reload();
        assertThat(access.reload().replaced()).isNotEmpty();
        served.rpc.accessChanged();
        assertThat(Served.get(ended).reason()).isEqualTo(Reason.SESSION_UNKNOWN);
        assertThat(Served.get(ended).message()).startsWith("the key of the JWT of jwt:bob was withdrawn");
        assertUnauthenticated(waiting, "the key of the JWT of jwt:bob was withdrawn");
    }

    private Granted held(String lock) {
        return stub(token("alice", 600))
                .acquire(Served.acquire(lock, 1, 0)
                        .setSessionId(Served.session(1))
                        .setTtlMillis(60_000)
                        .build())
                .getGranted();
    }

    private static void assertUnauthenticated(Future<?> call, String message) {
        assertThatThrownBy(() -> call.get(20, TimeUnit.SECONDS)) // Before the wait is over.
                .isInstanceOf(ExecutionException.class)
                .satisfies(e -> {
                    Rejection refused = Rejections.ofThrowable(java.util.Objects.requireNonNull(e.getCause()))
                            .orElseThrow();
                    assertThat(refused.reason()).isEqualTo(Reason.UNAUTHENTICATED);
                    assertThat(refused.message()).startsWith(message);
                });
    }

    private void open(
            String token,
            long generation,
            Call call,
            java.util.function.Consumer<ServerFrame> received,
            CompletableFuture<Rejection> ended) {
        StreamObserver<ClientFrame> out = LocksGrpc.newStub(with(token)).session(new StreamObserver<>() {
            @Override
            public void onNext(ServerFrame frame) {
                received.accept(frame);
            }

            @Override
            public void onError(Throwable failure) {
                Rejections.ofThrowable(failure).ifPresent(ended::complete);
            }

            @Override
            public void onCompleted() {}
        });
        out.onNext(ClientFrame.newBuilder()
                .setHello(Hello.newBuilder().setSessionId(Served.session(1)).setSessionGen(generation))
                .addCalls(call)
                .build());
    }

    @Test
    void aWaitThatOutlivesItsTokenGetsNoLock() {
        Granted first = stub(token("alice", 600))
                .acquire(Served.acquire("jobs/1", 1, 0)
                        .setSessionId(Served.session(1))
                        .setTtlMillis(60_000)
                        .build())
                .getGranted();
        var waiting = LocksGrpc.newFutureStub(with(token("bob", 10)))
                .acquire(Served.acquire("jobs/1", 2, 60_000)
                        .setSessionId(Served.session(2))
                        .setTtlMillis(60_000)
                        .build());
        String alice = token("alice", 600);
        Awaitility.await().until(() -> stub(alice).describe(describe("jobs/1")).getWaitersTotal() == 1);
        seconds.addAndGet(21);
        var unused = stub(alice)
                .release(ReleaseRequest.newBuilder()
                        .setLock("jobs/1")
                        .setGrantId(first.getGrantId())
                        .setToken(first.getToken())
                        .setSessionId(Served.session(1))
                        .build());
        assertThatThrownBy(() -> waiting.get(60, TimeUnit.SECONDS))
                .isInstanceOf(ExecutionException.class)
                .satisfies(e -> assertThat(Rejections.ofThrowable(java.util.Objects.requireNonNull(e.getCause()))
                                .orElseThrow()
                                .reason())
                        .isEqualTo(Reason.UNAUTHENTICATED));
        Awaitility.await().untilAsserted(() -> {
            DescribeReply now = stub(alice).describe(describe("jobs/1"));
            assertThat(now.getHoldersCount() + now.getWaitersTotal()).isZero();
        });
    }

    @Test
    void refusalsNameTheIssuerWhoseTokensAreAccepted() {
        String expected = "send a JWT of " + JwtIssuer.ISSUER + " for audience " + JwtIssuer.AUDIENCE;
        assertThatThrownBy(() -> stub("palisade_" + "A".repeat(43)).describe(describe("jobs/1")))
                .hasMessageContaining(expected)
                .hasMessageNotContaining("palisade users add");
        assertThatThrownBy(() -> LocksGrpc.newBlockingStub(served.channel)
                        .withDeadlineAfter(60, TimeUnit.SECONDS)
                        .describe(describe("jobs/1")))
                .hasMessageContaining(expected);
    }

    @Test
    void theAdminPortVerifiesAtOnce() {
        Authentication authentication =
                new Authentication(access, null, served.engine.events(), served.engine.rejections());
        InetSocketAddress here = new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
        holds = true; // It has a thread of its own.
        authentication.requireOperator(List.of("Bearer " + token("alice", 600)), null, here);
        assertThatThrownBy(() -> authentication.requireOperator(List.of("Bearer " + token("bob", 600)), null, here))
                .isInstanceOfSatisfying(
                        RejectedException.class,
                        e -> assertThat(e.rejection().reason()).isEqualTo(Reason.PERMISSION_DENIED));
        assertThatThrownBy(() -> authentication.requireOperator(List.of("Bearer " + token("alice", -1)), null, here))
                .isInstanceOfSatisfying(
                        RejectedException.class,
                        e -> assertThat(e.rejection().reason()).isEqualTo(Reason.UNAUTHENTICATED));
        assertThatThrownBy(() -> authentication.requireOperator(
                        List.of("Bearer " + token("alice", 600)), null, new InetSocketAddress("192.0.2.1", 1)))
                .hasMessageContaining("without TLS");
    }
}
