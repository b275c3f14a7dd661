package dev.palisade.server.rpc;

import static dev.palisade.server.rpc.Served.acquire;
import static dev.palisade.server.rpc.Served.session;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.palisade.contract.Reason;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.CheckSequencerRequest;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.Holder;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ResumeRequest;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.store.MemoryStore;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A resume that shows what was granted, before a store that has lost it. */
class ReclaimRpcTest {
    private final MemoryStore store = new MemoryStore();
    private Served served;

    @BeforeEach
    void serve() throws Exception {
        served = new Served(store);
    }

    @AfterEach
    void stop() {
        served.close();
    }

    @Test
    void aReconnectedClientGetsALeaseBackThatTheStoreForgot() {
        Granted held = served.stream(1, 1).granted(acquire("a", 7, 0).setTtlMillis(8_000));
        store.losesAll(10_000);
        Served.Stream later = served.stream(1, 2);
        Reply reply = later.ask(Call.newBuilder().setResume(shown(held)));
        assertThat(reply.getResume().getTtlMillis()).isEqualTo(8_000);
        Holder holder = served.unary()
                .describe(DescribeRequest.newBuilder().setLock("a").build())
                .getHolders(0);
        assertThat(holder.getToken()).isEqualTo(held.getToken());
        assertThat(holder.getOwner()).isEqualTo("client 1");
        assertThat(holder.getPurpose()).isEqualTo("to test");
        assertThat(holder.getTtlMillis()).isEqualTo(8_000);
        store.passes(7_999);
        assertThat(later.keepAlive(1).getLostList()).isEmpty();
        assertThat(later.release(held).hasRelease()).isTrue();
    }

    @Test
    void whatTheStoreForgotIsNotResumedWithOthersButByItself() {
        Granted held = served.stream(1, 1).granted(acquire("a", 7, 0));
        Served.Stream before = served.stream(1, 2);
        await().until(() -> !before.frames.isEmpty());
        store.losesAll(10_000);
        assertThat(before.resumeMany(held)).containsExactly(held.getGrantId());
        assertThat(before.ask(Call.newBuilder().setResume(shown(held))).hasResume())
                .isTrue();
        assertThat(before.resumeMany(held)).isEmpty();
        Served.Stream after = served.stream(1, 3);
        await().until(() -> !after.frames.isEmpty());
        assertThat(after.frames.get(0).getWelcome().getResumeManyMax()).isZero();
    }

    /** Every guarded service sees sequencers. */
    @Test
    void aSequencerGivesNothingToAnotherSession() {
        Granted held = served.stream(1, 1).granted(acquire("a", 7, 0));
        store.losesAll(10_000);
        Reply stolen = served.stream(2, 1).ask(Call.newBuilder().setResume(shown(held)));
        assertThat(stolen.getRejected().getReason()).isEqualTo("NOT_HOLDER");
        Reply another =
                served.stream(1, 2).ask(Call.newBuilder().setResume(shown(held).setRequestId(8)));
        assertThat(another.getRejected().getReason()).as("of another request").isEqualTo("NOT_HOLDER");
        assertThat(served.stream(1, 3)
                        .ask(Call.newBuilder().setResume(shown(held)))
                        .hasResume())
                .isTrue();
    }

    @Test
    void aLeaseWhoseReleaseWasAnsweredIsNotGivenBack() {
        Served.Stream client = served.stream(1, 1);
        Granted held = client.granted(acquire("a", 7, 0));
        assertThat(client.release(held).hasRelease()).isTrue();
        store.losesAll(10_000);
        CheckSequencerRequest check = CheckSequencerRequest.newBuilder()
                .setSequencer(held.getSequencer())
                .build();
        assertThat(served.unary().checkSequencer(check).getAlive()).isFalse();
        Reply back = served.stream(1, 2).ask(Call.newBuilder().setResume(shown(held)));
        assertThat(back.getRejected().getReason()).isEqualTo("NOT_HOLDER");
        assertThat(served.unary().checkSequencer(check).getAlive()).isFalse();
    }

    @Test
    void itsAcquireSentOnceMoreIsAnsweredWithTheSameGrant() {
        Granted held = served.stream(1, 1).granted(acquire("a", 7, 0));
        store.losesAll(10_000);
        Served.Stream later = served.stream(1, 2);
        later.ask(Call.newBuilder().setResume(shown(held)));
        assertThat(later.granted(acquire("a", 7, 0)).getToken()).isEqualTo(held.getToken());
    }

    @Test
    void aCallerWithoutAStreamGetsItBackToo() {
        Granted held = served.unary()
                .acquire(acquire("a", 7, 0).setSessionId(session(1)).build())
                .getGranted();
        store.losesAll(10_000);
        ResumeRequest.Builder bare = shown(held).setSessionId(session(1)).setSessionGen(2);
        assertThat(Served.reason(catchThrowable(() ->
                        served.unary().resume(bare.clone().clearSequencer().build()))))
                .isEqualTo(Reason.NOT_HOLDER);
        assertThat(served.unary().resume(bare.setOwner("me").build()).getTtlMillis())
                .isEqualTo(10_000);
    }

    @Test
    void whatCannotBeAsItWasAskedForIsMalformed() {
        Granted held = served.stream(1, 1).granted(acquire("a", 7, 0));
        store.losesAll(10_000);
        Served.Stream later = served.stream(1, 2);
        for (ResumeRequest.Builder wrong : new ResumeRequest.Builder[] {
            shown(held).clearRequestId(),
            shown(held).setTtlMillis(999),
            shown(held).setTtlMillis(300_001),
            shown(held).setLockDelayMillis(60_001),
            shown(held).setLockAtLeastForMillis(3_600_001),
            shown(held).setPurpose("x".repeat(257))
        }) {
            assertThat(later.ask(Call.newBuilder().setResume(wrong))
                            .getRejected()
                            .getReason())
                    .isEqualTo("MALFORMED_REQUEST");
        }
        assertThat(later.ask(Call.newBuilder().setResume(shown(held).setSequencer(ByteString.copyFrom(new byte[513]))))
                        .getRejected()
                        .getReason())
                .isEqualTo("SEQUENCER_INVALID");
        assertThat(later.ask(Call.newBuilder().setResume(shown(held))).hasResume())
                .isTrue();
    }

    @Test
    void unaryWaitThatEndsInARecoveryNamesItsEnd() throws Exception {
        store.losesAll(4_000);
        Future<AcquireReply> waits = LocksGrpc.newFutureStub(served.channel)
                .acquire(acquire("a", 1, 1_000).setSessionId(session(1)).build());
        await().until(() -> store.asked().stream().anyMatch(Acquire.class::isInstance));
        store.passes(1_000);
        assertThat(waits.get(60, TimeUnit.SECONDS).getTimedOut().getRecoveringMillis())
                .isEqualTo(3_000);
    }

    @Test
    void aTryIsToldWhenToComeAgainAndACallThatWaitsIsGrantedThen() {
        store.losesAll(4_000);
        Served.Stream stream = served.stream(1, 1);
        Reply refused = stream.ask(Call.newBuilder().setAcquire(acquire("a", 1, 0)));
        assertThat(refused.getRejected().getReason()).isEqualTo("RECOVERING");
        assertThat(refused.getRejected().getMetadataMap())
                .containsEntry("retry_after_millis", "4000")
                .containsEntry("applied", "no");
        Reply queued = stream.ask(Call.newBuilder().setAcquire(acquire("a", 2, 60_000)));
        assertThat(queued.getAcquire().getQueued().getPosition()).isEqualTo(1);
        assertThat(queued.getAcquire().getQueued().getRecoveringMillis()).isEqualTo(4_000);
        assertThat(stream.events).isEmpty();
        store.passes(1_000);
        assertThat(stream.keepAlive(1).getRecoveringMillis()).isEqualTo(3_000);
        store.passes(3_000);
        await().until(() -> !stream.events.isEmpty());
        assertThat(stream.events.get(0).getOffered().getRequestId()).isEqualTo(2);
    }

    private static ResumeRequest.Builder shown(Granted held) {
        return ResumeRequest.newBuilder()
                .setLock(held.getLock())
                .setGrantId(held.getGrantId())
                .setToken(held.getToken())
                .setSequencer(held.getSequencer())
                .setRequestId(7)
                .setTtlMillis(held.getTtlMillis())
                .setPurpose("to test");
    }
}
