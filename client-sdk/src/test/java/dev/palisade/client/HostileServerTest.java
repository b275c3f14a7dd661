package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Call.CallCase;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.KeepAliveReply;
import dev.palisade.proto.v1.LostEvent;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.proto.v1.WaitEndedEvent;
import dev.palisade.proto.v1.Welcome;
import io.grpc.Status;
import java.time.Duration;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A client keeps running and keeps its leases, whatever a server sends. */
class HostileServerTest extends Fixture {
    enum Malformation {
        TOKEN_ZERO(granted -> granted.setToken(0)),
        TOKEN_TOO_LARGE(granted -> granted.setToken(1L << 53)),
        TOKEN_NEGATIVE(granted -> granted.setToken(-1)),
        GRANT_ID_SHORT(granted -> granted.setGrantId(ByteString.copyFromUtf8("short"))),
        NO_SEQUENCER(Granted.Builder::clearSequencer),
        SEQUENCER_HUGE(granted -> granted.setSequencer(ByteString.copyFrom(new byte[5_000]))),
        OTHER_LOCK(granted -> granted.setLock("other")),
        OTHER_MODE(granted -> granted.setMode(dev.palisade.proto.v1.Mode.SHARED)),
        NO_MODE(Granted.Builder::clearMode),
        MODE_UNKNOWN(granted -> granted.setModeValue(99)),
        TTL_ZERO(Granted.Builder::clearTtlMillis),
        TTL_ENDLESS(granted -> granted.setTtlMillis(Long.MAX_VALUE));

        // Stateless, which the checker cannot see.
        @SuppressWarnings("ImmutableEnumChecker")
        private final UnaryOperator<Granted.Builder> change;

        Malformation(UnaryOperator<Granted.Builder> change) {
            this.change = change;
        }
    }

    @ParameterizedTest
    @EnumSource
    void malformedGrantIsReleased(Malformation malformation) {
        Lease before = leaseOf(client.acquireAsync("before", TRY));
        server.script = call -> call.hasAcquire()
                ? ScriptedServer.granted(malformation
                        .change
                        .apply(server.grant(call.getAcquire()).toBuilder())
                        .build())
                : server.grantAll(call);
        assertThat(acquire(TRY).join()).isInstanceOf(AcquireResult.Unavailable.class);
        assertThat(count(CallCase.LEAVE)).isEqualTo(1);
        goesOn(before);
    }

    @ParameterizedTest
    @EnumSource
    void aBentOfferIsDeclined(Malformation malformation) {
        Lease before = leaseOf(client.acquireAsync("before", TRY));
        server.script = server::queueAll;
        var result = acquire(WAIT_MINUTE);
        long requestId = last(CallCase.ACQUIRE).getAcquire().getRequestId();
        Granted granted =
                malformation.change.apply(server.grant(LOCK).toBuilder()).build();
        server.link().offer(requestId, granted, 2_000, server.link().newestSentNanos());
        assertThat(result.join()).isInstanceOf(AcquireResult.Unavailable.class);
        assertThat(last(CallCase.LEAVE).getLeave().getRequestId()).isEqualTo(requestId);
        goesOn(before);
    }

    @Test
    void strayAndEmptyRepliesChangeNothing() {
        Lease before = leaseOf(client.acquireAsync("before", TRY));
        push(ServerFrame.newBuilder());
        push(ServerFrame.newBuilder().addReplies(Reply.newBuilder().setCallId(123_456)));
        push(ServerFrame.newBuilder().addReplies(Reply.newBuilder()));
        push(ServerFrame.newBuilder().addEvents(Event.newBuilder()));
        push(ServerFrame.newBuilder()
                .addEvents(Event.newBuilder().setLost(LostEvent.newBuilder().setLock("before"))));
        push(ServerFrame.newBuilder()
                .addEvents(Event.newBuilder()
                        .setWaitEnded(WaitEndedEvent.newBuilder().setRequestId(9_999))));
        push(ServerFrame.newBuilder()
                .setKeepAlive(KeepAliveReply.newBuilder().setKeepAliveId(77).addLost(LostEvent.newBuilder())));
        push(ServerFrame.newBuilder().setWelcome(Welcome.newBuilder().setCallsInFlightMax(-5)));
        goesOn(before);
    }

    @Test
    void replyToAnUnsentKeepAliveExtendsNothing() {
        Lease before = held();
        time.advanceMillis(2_000);
        push(ServerFrame.newBuilder().setKeepAlive(KeepAliveReply.newBuilder().setKeepAliveId(1)));
        assertThat(before.validFor()).isEqualTo(Duration.ofMillis(6_971));
    }

    @Test
    void unrequestedGrantIsReleased() {
        Granted granted = server.grant("unasked");
        push(ServerFrame.newBuilder().addReplies(ScriptedServer.granted(granted).setCallId(4_711)));
        assertThat(last(CallCase.RELEASE).getRelease().getGrantId()).isEqualTo(granted.getGrantId());
    }

    @Test
    void emptyAndMismatchedAnswersAreUnavailable() {
        server.script = call -> Reply.newBuilder();
        assertThat(acquire(TRY).join()).isInstanceOf(AcquireResult.Unavailable.class);
        server.script = call -> Reply.newBuilder().setAcquire(AcquireReply.newBuilder());
        assertThat(acquire(TRY).join()).isInstanceOf(AcquireResult.Unavailable.class);
        server.script = call -> server.grantAll(
                Call.newBuilder().setDescribe(call.getDescribe()).build());
        assertThat(acquire(TRY).join()).isInstanceOf(AcquireResult.Unavailable.class);
        server.script = call -> ScriptedServer.rejected("A_REASON_OF_NEXT_YEAR");
        var asked = acquire(TRY);
        time.advanceMillis(5_000);
        assertThat(asked.join()).isInstanceOf(AcquireResult.Unavailable.class);
        server.script = server::grantAll;
        assertThat(held().isValid()).isTrue();
    }

    @Test
    void serverThatAllowsNoCallsInFlightGetsOneAtATime() {
        server.callsInFlightMax = 0;
        server.link().breakOff();
        time.advanceMillis(50);
        server.script = call -> null;
        var first = acquire(TRY);
        var second = acquire(TRY);
        assertThat(count(CallCase.ACQUIRE)).isEqualTo(1);
        server.script = server::grantAll;
        Call call = last(CallCase.ACQUIRE);
        server.link().answer(call, server.grantAll(call));
        assertThat(first).isDone();
        assertThat(second).isDone();
    }

    @Test
    void refusedSessionFailsAcquires() {
        server.script = ScriptedServer.silentOn(Call::hasAcquire, server::grantAll);
        var result = acquire(WAIT_MINUTE);
        server.link()
                .fail(dev.palisade.contract.grpc.Rejections.toStatus(new dev.palisade.contract.Rejection(
                        dev.palisade.contract.Reason.UNAUTHENTICATED, "who are you")));
        assertThat(result).isCompletedExceptionally();
    }

    @Test
    void aServerThatWelcomesAndHangsUpIsNotHammered() {
        for (int i = 0; i < 50; i++) {
            server.link().fail(Status.INTERNAL.asRuntimeException());
            time.advanceMillis(100);
        }
        assertThat(server.links.size()).isLessThan(20);
    }

    private void push(ServerFrame.Builder frame) {
        server.link().push(frame);
    }

    private void goesOn(Lease before) {
        server.script = server::grantAll;
        assertThat(before.isValid()).isTrue();
        assertThat(leaseOf(client.acquireAsync("after", TRY)).isValid()).isTrue();
        time.advance(Duration.ofSeconds(30));
        assertThat(before.isValid()).isTrue();
        assertThat(server.links).hasSize(1);
    }
}
