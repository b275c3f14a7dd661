package dev.palisade.sessions;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.AcceptRequest;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.LeaveRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.proto.v1.Reply;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.StatusRuntimeException;
import java.security.SecureRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A call that comes again after its end, as networks may deliver it: the answer is the recorded end and never a new grant
 * (requirement A12).
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Execution(ExecutionMode.CONCURRENT)
class LateDuplicateIT {
    /** How the calls travel: on the stream that carried them first, on a newer one, or as unary calls. */
    enum By {
        SAME_STREAM,
        NEWER_STREAM,
        UNARY
    }

    private final Scene scene = new Scene();
    private final ManagedChannel channel =
            ManagedChannelBuilder.forTarget(scene.address()).usePlaintext().build();

    @AfterAll
    void close() {
        channel.shutdownNow();
        scene.close();
    }

    /** One session that sends calls, first and again. */
    private final class Sender {
        private final By by;
        private final ByteString session = ByteString.copyFrom(new SecureRandom().generateSeed(SessionId.BYTES));
        private final RawStream first;
        private long calls;

        Sender(By by) {
            this.by = by;
            this.first = new RawStream(channel, session, 1);
        }

        Reply first(Call.Builder call) {
            Call numbered = call.setCallId(++calls).build();
            return by == By.UNARY ? unary(numbered) : first.ask(numbered);
        }

        Reply again(Call.Builder call) {
            return switch (by) {
                case SAME_STREAM -> first.ask(call.build());
                case NEWER_STREAM -> {
                    try (RawStream newer = new RawStream(channel, session, calls + 1)) {
                        yield newer.ask(call.build());
                    }
                }
                case UNARY -> unary(call.build());
            };
        }

        private Reply unary(Call call) {
            var stub = LocksGrpc.newBlockingStub(channel).withDeadlineAfter(20, TimeUnit.SECONDS);
            Reply.Builder reply = Reply.newBuilder();
            try {
                return switch (call.getCallCase()) {
                    case ACQUIRE ->
                        reply.setAcquire(stub.acquire(call.getAcquire().toBuilder()
                                        .setSessionId(session)
                                        .build()))
                                .build();
                    case ACCEPT ->
                        reply.setAccept(stub.accept(call.getAccept().toBuilder()
                                        .setSessionId(session)
                                        .build()))
                                .build();
                    case RENEW ->
                        reply.setRenew(stub.renew(call.getRenew().toBuilder()
                                        .setSessionId(session)
                                        .build()))
                                .build();
                    case RELEASE ->
                        reply.setRelease(stub.release(call.getRelease().toBuilder()
                                        .setSessionId(session)
                                        .build()))
                                .build();
                    case LEAVE ->
                        reply.setLeave(stub.leave(call.getLeave().toBuilder()
                                        .setSessionId(session)
                                        .build()))
                                .build();
                    default -> throw new IllegalArgumentException(call.toString());
                };
            } catch (StatusRuntimeException e) {
                Rejection rejection = Rejections.ofThrowable(e).orElseThrow();
                reply.getRejectedBuilder().setReason(rejection.reason().name());
                return reply.build();
            }
        }
    }

    private static Call.Builder acquire(String lock, long ttlMillis, long waitMillis) {
        return Call.newBuilder()
                .setAcquire(AcquireRequest.newBuilder()
                        .setLock(lock)
                        .setMode(Mode.EXCLUSIVE)
                        .setTtlMillis(ttlMillis)
                        .setWaitMillis(waitMillis)
                        .setRequestId(1));
    }

    private static Call.Builder accept(Granted granted) {
        return Call.newBuilder()
                .setAccept(AcceptRequest.newBuilder()
                        .setLock(granted.getLock())
                        .setGrantId(granted.getGrantId())
                        .setToken(granted.getToken()));
    }

    private static Call.Builder renew(Granted granted) {
        return Call.newBuilder()
                .setRenew(RenewRequest.newBuilder()
                        .setLock(granted.getLock())
                        .setGrantId(granted.getGrantId())
                        .setToken(granted.getToken()));
    }

    private static Call.Builder release(Granted granted) {
        return Call.newBuilder()
                .setRelease(ReleaseRequest.newBuilder()
                        .setLock(granted.getLock())
                        .setGrantId(granted.getGrantId())
                        .setToken(granted.getToken()));
    }

    private static Call.Builder leave(String lock) {
        return Call.newBuilder()
                .setLeave(LeaveRequest.newBuilder().setLock(lock).setRequestId(1));
    }

    private static void assertEnded(Reply reply) {
        assertThat(reply.getRejected().getReason()).isEqualTo(Reason.LEASE_EXPIRED.name());
    }

    /** Nobody holds it, and what is said to have been granted was granted before. */
    private void assertFreeAfter(String lock, int grants) throws InterruptedException {
        assertThat(scene.describe(lock).holders()).isEmpty();
        assertThat(scene.history(lock, "GRANTED")).hasSize(grants);
    }

    @ParameterizedTest
    @EnumSource
    void everythingAboutAReleasedGrantIsOver(By by) throws InterruptedException {
        String lock = "released/" + by;
        Sender sender = new Sender(by);
        Call.Builder acquire = acquire(lock, 60_000, 0);
        Granted granted = sender.first(acquire).getAcquire().getGranted();
        Call.Builder renew = renew(granted);
        assertThat(sender.first(renew).hasRenew()).isTrue();
        Call.Builder release = release(granted);
        assertThat(sender.first(release).hasRelease()).isTrue();

        assertEnded(sender.again(acquire));
        assertEnded(sender.again(renew));
        assertEnded(sender.again(accept(granted).setCallId(99)));
        assertThat(sender.again(release).hasRelease()).as("the same answer").isTrue();
        assertFreeAfter(lock, 1);

        try (var next = scene.client("next", scene.address())) {
            Scene.Watched held = Scene.take(next, lock, 60_000);
            assertEnded(sender.again(acquire));
            assertEnded(sender.again(renew));
            assertThat(sender.again(release).hasRelease()).isTrue();
            assertThat(scene.describe(lock).holders())
                    .as("a late release frees nobody else's lock")
                    .singleElement()
                    .satisfies(holder -> assertThat(holder.token().value()).isEqualTo(held.token()));
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatHasExpiredStaysExpired(By by) throws InterruptedException {
        String lock = "expired/" + by;
        Sender sender = new Sender(by);
        Call.Builder acquire = acquire(lock, 1_000, 0);
        Granted granted = sender.first(acquire).getAcquire().getGranted();
        Scene.eventually().until(() -> scene.describe(lock).holders().isEmpty());

        assertEnded(sender.again(acquire));
        assertEnded(sender.again(renew(granted).setCallId(98)));
        assertEnded(sender.again(release(granted).setCallId(99)));
        assertFreeAfter(lock, 1);
    }

    @ParameterizedTest
    @EnumSource
    void aTryThatWasBusyIsNotGrantedLater(By by) throws InterruptedException {
        String lock = "busy/" + by;
        Sender sender = new Sender(by);
        Call.Builder acquire = acquire(lock, 60_000, 0);
        try (var holder = scene.client("holder", scene.address())) {
            Scene.take(holder, lock, 60_000);
            assertThat(sender.first(acquire).getAcquire().hasBusy()).isTrue();
        }
        Scene.eventually().until(() -> scene.describe(lock).holders().isEmpty());

        assertThat(sender.again(acquire).getAcquire().hasBusy()).isTrue();
        assertFreeAfter(lock, 1);
    }

    @ParameterizedTest
    @EnumSource
    void whoHasLeftIsNotGrantedLaterWhicheverCameFirst(By by) throws InterruptedException {
        String before = "left first/" + by;
        Sender overtaken = new Sender(by);
        assertThat(overtaken.first(leave(before)).getLeave().getWasWaiting()).isFalse();
        assertThat(overtaken.first(acquire(before, 60_000, 10_000)).getAcquire().hasTimedOut())
                .isTrue();
        assertFreeAfter(before, 0);

        String after = "left after/" + by;
        Sender sender = new Sender(by);
        Call.Builder acquire = acquire(after, 60_000, 10_000);
        sender.first(acquire);
        sender.first(leave(after));
        assertEnded(sender.again(acquire));
        assertFreeAfter(after, 1);
    }

    @ParameterizedTest
    @EnumSource(names = {"SAME_STREAM", "NEWER_STREAM"})
    void whoLeftTheQueueIsNotOfferedTheLockLater(By by) throws InterruptedException {
        String lock = "left the queue/" + by;
        Sender sender = new Sender(by);
        Call.Builder acquire = acquire(lock, 60_000, 10_000);
        try (var holder = scene.client("holder", scene.address())) {
            Scene.take(holder, lock, 60_000);
            assertThat(sender.first(acquire).getAcquire().hasQueued()).isTrue();
            assertThat(sender.first(leave(lock)).getLeave().getWasWaiting()).isTrue();
            assertThat(sender.again(acquire).getAcquire().hasTimedOut()).isTrue();
        }
        Scene.eventually().until(() -> scene.describe(lock).holders().isEmpty());
        assertThat(scene.history(lock, "OFFERED")).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(names = {"SAME_STREAM", "NEWER_STREAM"})
    void anAcceptThatComesAgainMakesNoSecondGrant(By by) throws InterruptedException {
        String lock = "accepted/" + by;
        Sender sender = new Sender(by);
        Granted offered;
        try (var holder = scene.client("holder", scene.address())) {
            Scene.take(holder, lock, 60_000);
            sender.first(acquire(lock, 60_000, 10_000));
        }
        offered = sender.first.awaitOffer(1).getGranted();
        Call.Builder accept = accept(offered);
        assertThat(sender.first(accept).getAccept().getGranted().getToken()).isEqualTo(offered.getToken());
        assertThat(sender.again(accept).getAccept().getGranted().getToken()).isEqualTo(offered.getToken());
        assertThat(sender.again(release(offered).setCallId(97)).hasRelease()).isTrue();

        assertEnded(sender.again(accept));
        assertFreeAfter(lock, 1);
        assertThat(scene.history(lock, "ACCEPTED")).hasSize(1);
    }

    @ParameterizedTest
    @EnumSource
    void anAcquireFromBeforeTheServersMemoryIsRefused(By by) throws InterruptedException {
        String lock = "old/" + by;
        Call.Builder acquire = acquire(lock, 60_000, 10_000);
        acquire.getAcquireBuilder().setAgeMillis(30_001);

        assertEnded(new Sender(by).first(acquire));

        assertFreeAfter(lock, 0);
        acquire.getAcquireBuilder().setAgeMillis(29_000);
        assertThat(new Sender(by).first(acquire).getAcquire().hasGranted()).isTrue();
    }
}
