package dev.palisade.server.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.ByteString;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.AcceptRequest;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.ForceReleaseRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.LeaveRequest;
import dev.palisade.proto.v1.ListRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.server.access.AccessControl;
import dev.palisade.server.access.AccessFile;
import dev.palisade.server.access.Policy;
import dev.palisade.server.access.UserTokens;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The limits {@code locks} and {@code waiters} of a policy, through gRPC: what counts, what ends it, and what is never refused.
 * For the rates of requests all happens within one instant.
 */
class LockLimitsTest {
    private static final int LOCKS = 3;
    private static final int WAITERS = 2;

    @TempDir
    Path folder;

    private final Map<String, String> tokens = new HashMap<>();
    private Served served;

    @BeforeEach
    void serve() throws Exception {
        Files.writeString(
                folder.resolve("policy.conf"),
                "allow * * *\nlimit web locks=" + LOCKS + " waiters=" + WAITERS + " requests-per-second=100000\n"
                        + "limit slow requests-per-second=5\n");
        for (String name : List.of("web", "other", "slow")) {
            byte[] random = Arrays.copyOf(name.getBytes(StandardCharsets.UTF_8), UserTokens.TOKEN_BYTES);
            tokens.put(name, UserTokens.add(folder.resolve("users"), name, random, LocalDate.EPOCH));
        }
        open();
    }

    private void open() throws Exception {
        served = new Served(
                folder.resolve("locks"),
                new AccessControl(
                        new AccessFile<>(folder.resolve("policy.conf"), false, Policy::parse),
                        new AccessFile<>(folder.resolve("users"), true, UserTokens::parse),
                        null,
                        () -> 1));
    }

    @AfterEach
    void close() {
        served.close();
    }

    private Channel as(String name) {
        Metadata headers = new Metadata();
        headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + tokens.get(name));
        return ClientInterceptors.intercept(served.channel, MetadataUtils.newAttachHeadersInterceptor(headers));
    }

    private LocksGrpc.LocksBlockingStub stub(String name) {
        return LocksGrpc.newBlockingStub(as(name)).withDeadlineAfter(60, TimeUnit.SECONDS);
    }

    private static AcquireRequest.Builder acquire(String lock, long request, long waitMillis) {
        return Served.acquire(lock, request, waitMillis)
                .setSessionId(Served.session(1))
                .setTtlMillis(60_000);
    }

    private Granted granted(String name, String lock, long request) {
        return stub(name).acquire(acquire(lock, request, 0).build()).getGranted();
    }

    private Future<AcquireReply> waiting(String name, String lock, long request) {
        Future<AcquireReply> call = LocksGrpc.newFutureStub(as(name))
                .acquire(acquire(lock, request, 60_000).build());
        return call;
    }

    private static ReleaseRequest release(Granted granted) {
        return ReleaseRequest.newBuilder()
                .setLock(granted.getLock())
                .setGrantId(granted.getGrantId())
                .setToken(granted.getToken())
                .setSessionId(Served.session(1))
                .build();
    }

    private Served.Stream stream(long session, long gen) {
        return served.new Stream(as("web"), session, gen, true);
    }

    private static Call.Builder call(AcquireRequest.Builder acquire) {
        return Call.newBuilder().setAcquire(acquire.clearSessionId());
    }

    private static Optional<String> refused(Runnable call) {
        try {
            call.run();
            return Optional.empty();
        } catch (StatusRuntimeException e) {
            return limit(Rejections.ofThrowable(e).orElseThrow());
        }
    }

    private static Optional<String> limit(Rejection rejection) {
        assertThat(rejection.reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(rejection.metadata()).containsEntry(Rejection.RETRY_AFTER_MILLIS, "1000");
        return Optional.ofNullable(rejection.metadata().get(Rejection.LIMIT));
    }

    private void counts(int locks) {
        Awaitility.await()
                .untilAsserted(() -> assertThat(served.engine.locksOf("web")).isEqualTo(locks));
    }

    @Test
    void locksOfCallsAndStreamsAreLimitedTogether() {
        Served.Stream stream = stream(2, 1);
        Granted onStream = stream.granted(acquire("s/1", 1, 0).clearSessionId());
        granted("web", "u/1", 1);
        Granted last = granted("web", "u/2", 2);
        assertThat(refused(() -> granted("web", "u/3", 3))).contains("locks");
        assertThat(stream.ask(call(acquire("s/2", 2, 0))).getRejected().getMetadataMap())
                .containsEntry(Rejection.LIMIT, "locks")
                .containsEntry(Rejection.RETRY_AFTER_MILLIS, "1000");
        assertThat(granted("other", "u/3", 3).getToken()).isPositive();

        assertThat(granted("web", "u/2", 2).getToken())
                .as("the same request again")
                .isEqualTo(last.getToken());
        assertThat(stub("web").renew(renewal(last)).getTtlMillis()).isEqualTo(60_000);
        assertThat(stream.release(onStream).hasRejected()).isFalse();
        granted("web", "u/4", 4);
        assertThat(refused(() -> granted("web", "u/5", 5))).contains("locks");
    }

    private static RenewRequest renewal(Granted granted) {
        return RenewRequest.newBuilder()
                .setLock(granted.getLock())
                .setGrantId(granted.getGrantId())
                .setToken(granted.getToken())
                .setSessionId(Served.session(1))
                .build();
    }

    @Test
    void waitersOfCallsAndStreamsAreLimitedTogether() throws Exception {
        Granted held = granted("other", "a", 1);
        Served.Stream stream = stream(2, 1);
        assertThat(stream.ask(call(acquire("a", 1, 60_000))).getAcquire().hasQueued())
                .isTrue();
        Future<AcquireReply> call = waiting("web", "a", 2);
        counts(2);
        assertThat(refused(() -> stub("web").acquire(acquire("b", 3, 60_000).build())))
                .contains("waiters");
        assertThat(stream.ask(call(acquire("b", 3, 60_000))).getRejected().getMetadataMap())
                .containsEntry(Rejection.LIMIT, "waiters");
        granted("web", "b", 4);

        stub("other").release(release(held));
        Granted offered = offered(stream);
        assertThat(accept(stream, offered)).as("an accept is never refused").isTrue();
        assertThat(refused(() -> granted("web", "c", 5)))
                .as("two held, one waits")
                .contains("locks");
        call.cancel(true);
        counts(2);
        granted("web", "c", 5);
    }

    private static Granted offered(Served.Stream stream) {
        Awaitility.await().until(() -> stream.events.stream().anyMatch(Event::hasOffered));
        return stream.events.stream()
                .filter(Event::hasOffered)
                .findFirst()
                .orElseThrow()
                .getOffered()
                .getGranted();
    }

    private static boolean accept(Served.Stream stream, Granted offered) {
        return stream.ask(Call.newBuilder()
                        .setAccept(AcceptRequest.newBuilder()
                                .setLock(offered.getLock())
                                .setGrantId(offered.getGrantId())
                                .setToken(offered.getToken())))
                .getAccept()
                .hasGranted();
    }

    /** A count that leaks is worse than no limit. */
    @Test
    void everyEndOfARequestTakesItOffTheCount() throws Exception {
        Granted blocked = granted("other", "blocked", 1);
        // A failed try, by a call and on a stream.
        Served.Stream stream = stream(2, 1);
        assertThat(stub("web").acquire(acquire("blocked", 1, 0).build()).hasBusy())
                .isTrue();
        assertThat(stream.ask(call(acquire("blocked", 1, 0))).getAcquire().hasBusy())
                .isTrue();
        counts(0);
        // Released, by a call and on a stream: before the reply, so that the next acquire of a full account passes.
        for (int i = 0; i < 50; i++) {
            Granted byCall = granted("web", "u", 100 + i);
            Granted onStream = stream.granted(acquire("s", 100 + i, 0).clearSessionId());
            stub("web").release(release(byCall));
            stream.release(onStream);
            assertThat(served.engine.locksOf("web")).isZero();
        }
        // A wait that ends: in time, left, and with its call.
        stub("web").acquire(acquire("blocked", 2, 1).build());
        stream.ask(call(acquire("blocked", 2, 1)));
        counts(0);
        stream.ask(call(acquire("blocked", 3, 60_000)));
        assertThat(served.engine.locksOf("web")).isEqualTo(1);
        stream.ask(Call.newBuilder()
                .setLeave(LeaveRequest.newBuilder().setLock("blocked").setRequestId(3)));
        assertThat(served.engine.locksOf("web")).isZero();
        Future<AcquireReply> broken = waiting("web", "blocked", 4);
        counts(1);
        broken.cancel(true);
        counts(0);
        // An offer: accepted and released, and lapsed until its waiter is removed.
        stream.ask(call(acquire("blocked", 5, 600_000)));
        stub("other").release(release(blocked));
        assertThat(accept(stream, offered(stream))).isTrue();
        assertThat(served.engine.locksOf("web")).isEqualTo(1);
        forceRelease("blocked");
        counts(0);
        Granted again = granted("other", "blocked", 6);
        stream.ask(call(acquire("blocked", 6, 600_000)));
        counts(1);
        stub("other").release(release(again));
        for (int i = 0; i < 4; i++) {
            pass(3_000);
        }
        counts(0);
        // Expired.
        granted("web", "u", 7);
        stream.granted(acquire("s", 7, 0).clearSessionId());
        assertThat(served.engine.locksOf("web")).isEqualTo(2);
        pass(60_001);
        counts(0);
        // Abandoned with its stream, the held one and the one that waits.
        granted("other", "blocked", 8);
        stream.granted(acquire("s", 8, 0).clearSessionId());
        stream.ask(call(acquire("blocked", 8, 60_000)));
        counts(2);
        stream.breakOff();
        counts(0);
    }

    private void pass(long millis) throws Exception {
        served.nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
        // The store looks at its clock when it has something to do.
        stub("other").list(ListRequest.getDefaultInstance());
        granted("other", "tick/" + served.nanos.get(), 1_000 + millis);
    }

    private void forceRelease(String lock) {
        stub("other")
                .forceRelease(ForceReleaseRequest.newBuilder()
                        .setLock(lock)
                        .setBy("ops")
                        .setWhy("a test")
                        .build());
    }

    /** A store keeps no principals, so a lease is nobody's until its client comes back. */
    @Test
    void afterARestartLocksCountWhenTheirClientComesBack() throws Exception {
        Served.Stream before = stream(2, 1);
        Granted first = before.granted(acquire("s/1", 1, 0).clearSessionId());
        Granted second = before.granted(acquire("s/2", 2, 0).clearSessionId());
        Granted byCall = granted("web", "u/1", 1);
        served.rpc.stop();
        served.engine.enterDrain();
        served.close();
        open();

        counts(0);
        granted("web", "new/1", 10);
        granted("web", "new/2", 11);
        Served.Stream after = stream(2, 2);
        assertThat(after.resume(first).hasRejected()).isFalse();
        assertThat(after.resume(second).hasRejected()).as("beyond the limit").isFalse();
        assertThat(stub("web").renew(renewal(byCall)).getTtlMillis()).isEqualTo(60_000);
        assertThat(served.engine.locksOf("web")).isEqualTo(5);
        assertThat(refused(() -> granted("web", "new/3", 12))).contains("locks");
        after.release(first);
        after.release(second);
        stub("web").release(release(byCall));
        granted("web", "new/3", 13);
    }

    /** Renewals and releases are free, so that no lease is lost by haste; grants that were invented are none. */
    @Test
    void inventedGrantsTakeOfTheRequestRate() {
        RenewRequest invented = RenewRequest.newBuilder()
                .setLock("a")
                .setSessionId(Served.session(1))
                .setGrantId(ByteString.copyFrom(new GrantId(7, 7).toBytes()))
                .setToken(7)
                .build();
        for (int i = 0; i < 25; i++) {
            assertThrows(StatusRuntimeException.class, () -> stub("slow").renew(invented));
            assertThrows(
                    StatusRuntimeException.class,
                    () -> stub("slow")
                            .release(ReleaseRequest.newBuilder()
                                    .setLock("a")
                                    .setSessionId(invented.getSessionId())
                                    .setGrantId(invented.getGrantId())
                                    .setToken(7)
                                    .build()));
        }
        assertThat(Served.rejection(assertThrows(
                                StatusRuntimeException.class,
                                () -> stub("slow").list(ListRequest.getDefaultInstance())))
                        .metadata())
                .containsEntry(Rejection.LIMIT, "requests-per-second");
    }

    /** Its end is remembered, also of a request that never came; but a place in a queue must not stay for its haste. */
    @Test
    void aLeaveTakesOfTheRequestRateAndIsNeverRefused() {
        for (int i = 1; i <= 50; i++) {
            stub("slow")
                    .leave(LeaveRequest.newBuilder()
                            .setLock("a")
                            .setSessionId(Served.session(1))
                            .setRequestId(i)
                            .build());
        }
        assertThat(Served.rejection(assertThrows(
                                StatusRuntimeException.class,
                                () -> stub("slow").list(ListRequest.getDefaultInstance())))
                        .metadata())
                .containsEntry(Rejection.LIMIT, "requests-per-second");
    }
}
