package dev.palisade.server.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.End;
import dev.palisade.server.core.EndCause;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.Reclaim;
import dev.palisade.server.core.Release;
import dev.palisade.server.core.Renew;
import dev.palisade.server.core.Resume;
import dev.palisade.server.engine.LockEngine.ReclaimEvidence;
import dev.palisade.server.store.MemoryStore;
import dev.palisade.server.store.StoreFailure;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A store lost what it knew, and the engine has it given back to whom it was granted. */
class ReclaimTest {
    private static final SessionId SESSION = new SessionId(1, 1);
    private static final SessionId OTHER = new SessionId(1, 2);
    private static final LockName LOCK = new LockName("a");

    private final MemoryStore store = new MemoryStore();
    private final List<String> events = new ArrayList<>();
    private final SequencerKeys keys = SequencerKeys.generate();
    private final LockEngine engine = engine();
    private long requests;
    private boolean graceIsOver;
    private int verified;

    private LockEngine engine() {
        return new LockEngine(
                store,
                keys::sign,
                shown -> {
                    verified++;
                    return keys.verifier("palisade").verify(shown);
                },
                new EngineConfig("palisade", 1_000, 100, 100),
                (millis, task) -> {
                    if (graceIsOver) {
                        task.run();
                    }
                },
                new EventLog(events::add, () -> 0, 100),
                new byte[16]);
    }

    /** A fleet shows tens of thousands of sequencers after a takeover, when there is least time for it. */
    @Test
    void aSequencerOfAGrantThatTheStoreKnowsIsNotVerified() {
        Grant held = acquire(attach(SESSION, 1), 7_000, 500);
        Session next = attach(SESSION, 2);
        assertThat(now(engine.resume(
                        next, LOCK, held.id(), held.token(), Optional.of(shown(held, sequencer(LOCK, held))))))
                .isInstanceOf(Answer.Resumed.class);
        assertThat(verified).isZero();
        store.losesAll(10_000);
        assertThat(now(engine.resume(
                        attach(SESSION, 3),
                        LOCK,
                        held.id(),
                        held.token(),
                        Optional.of(shown(held, sequencer(LOCK, held))))))
                .isInstanceOf(Answer.Resumed.class);
        assertThat(verified).isEqualTo(1);
    }

    @Test
    void aKeepAliveGivesTheStoreBackWhatItForgot() {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 7_000, 500);
        store.losesAll(10_000);
        assertThat(now(engine.keepAlive(session))).as("lost").isEmpty();
        store.passes(6_999);
        assertThat(now(engine.keepAlive(session))).as("lost").isEmpty();
        assertThat(now(engine.execute(new Release(LOCK, held.id(), held.token(), SESSION))))
                .isEqualTo(new Answer.Released());
        Reclaim reclaim = (Reclaim) store.asked().stream()
                .filter(Reclaim.class::isInstance)
                .findFirst()
                .orElseThrow();
        assertThat(reclaim.request()).as("as it was asked for").isEqualTo(held.request());
    }

    @Test
    void aRenewOfOneLeaseDoesTheSame() {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 7_000, 0);
        store.losesAll(10_000);
        Answer renewed = now(engine.renew(session, LOCK, held.id(), held.token()));
        assertThat(((Answer.Renewed) renewed).grant().token()).isEqualTo(held.token());
        assertThat(reason(now(engine.renew(session, LOCK, held.id(), new FencingToken(77)))))
                .as("with another token it is not what the stream holds")
                .isEqualTo(Reason.TOKEN_MISMATCH);
    }

    @Test
    void aLeaseThatCameBackByALaterStreamIsReclaimedAsThatStreams() {
        Grant held = acquire(attach(SESSION, 1), 7_000, 0);
        Session later = attach(SESSION, 2);
        assertThat(now(engine.resume(later, LOCK, held.id(), held.token(), Optional.empty())))
                .isInstanceOf(Answer.Resumed.class);
        store.losesAll(10_000);
        assertThat(now(engine.keepAlive(later))).isEmpty();
        Reclaim reclaim = (Reclaim) store.asked().get(store.asked().size() - 1);
        assertThat(reclaim.request().sessionGen()).isEqualTo(2);
    }

    @Test
    void aStreamSpeaksForItselfWhateverNewerOneTheGrantWasLastToldOf() {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 7_000, 0);
        session.holds(new Grant(held.request().withSessionGen(5), held.token(), 0, 0), LOCK);
        store.losesAll(10_000);
        assertThat(now(engine.keepAlive(session))).isEmpty();
        Reclaim reclaim = (Reclaim) store.asked().get(store.asked().size() - 1);
        assertThat(reclaim.request().sessionGen()).isEqualTo(1);
    }

    @Test
    void aLeaseThatExpiredIsNotReclaimed() {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 5_000, 0);
        Grant other = acquire(session, new LockName("b"), 60_000, 0);
        store.passes(5_000);
        session.holds(held, LOCK); // As if the push of its end were still on its way.
        assertThat(now(engine.keepAlive(session)))
                .containsExactly(new LockEngine.Lost(LOCK, held.id(), Optional.of(End.EXPIRED), ""));
        assertThat(store.asked()).noneMatch(Reclaim.class::isInstance);
        assertThat(session.holds(other.id())).isTrue();
    }

    @Test
    void whatIsReleasedWhileOtherLeasesAreRenewedIsNotRenewed() {
        Session session = attach(SESSION, 1);
        List<Grant> held = Stream.of("a", "b", "c")
                .map(lock -> acquire(session, new LockName(lock), 7_000, 60_000))
                .toList();
        store.before(
                Renew.class,
                () -> session.held().values().forEach(lease -> {
                    var unused = engine.release(new Release(
                            lease.lock(), lease.grant().id(), lease.grant().token(), SESSION));
                }));
        assertThat(now(engine.keepAlive(session))).as("lost").isEmpty();
        assertThat(held).hasSize(3);
        assertThat(store.asked().stream().filter(Renew.class::isInstance)).hasSize(1);
    }

    @Test
    void whatIsReleasedWhileItsKeepAliveIsOnItsWayIsNotLost() {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 7_000, 0);
        store.before(Renew.class, () -> {
            var unused = store.execute(release(held)); // Heard by the store, and not by the session yet.
            session.holds(held, LOCK);
        });
        assertThat(now(engine.keepAlive(session))).as("lost").isEmpty();
    }

    @Test
    void forgottenLeaseOfStreamIsReleased() {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 7_000, 0);
        Grant other = acquire(session, new LockName("b"), 7_000, 0);
        store.losesAll(10_000);
        assertThat(now(engine.release(release(held)))).isEqualTo(new Answer.Released());
        assertThat(now(engine.keepAlive(session))).as("lost").isEmpty();
        assertThat(reclaimed()).as("once each").containsExactly(held.id(), other.id());
        assertThat(now(engine.release(release(held)))).as("repeated").isEqualTo(new Answer.Released());
    }

    @Test
    void releaseOfForgottenLeaseAfterTheWindowIsRefused() {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 60_000, 0);
        store.losesAll(10_000);
        store.passes(10_000);
        assertThat(reason(now(engine.release(release(held))))).isEqualTo(Reason.NOT_HOLDER);
        assertThat(session.holds(held.id())).isFalse();
    }

    @Test
    void releaseDuringOutageOfReclaimIsSentAgain() {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 60_000, 0);
        store.losesAll(10_000);
        store.failsAfterNext(StoreFailure.outcomeUnknown("cut"));
        assertThat(reason(now(engine.release(release(held))))).isEqualTo(Reason.OUTCOME_UNKNOWN);
        store.fails(null);
        assertThat(now(engine.release(release(held)))).isEqualTo(new Answer.Released());
    }

    @Test
    void releaseByStrangerReclaimsNothing() {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 60_000, 0);
        store.losesAll(10_000);
        for (Release wrong : List.of(
                new Release(LOCK, held.id(), held.token(), OTHER),
                new Release(LOCK, held.id(), new FencingToken(900), SESSION))) {
            assertThat(reason(now(engine.release(wrong)))).isEqualTo(Reason.NOT_HOLDER);
        }
        assertThat(reclaimed()).isEmpty();
    }

    @Test
    void aReleaseThatIsNotDecidedYetKeepsNothingFromBeingReclaimed() {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 7_000, 0);
        store.losesAll(10_000);
        store.refusesWith(Reason.SUSPECT_PRIMARY);
        assertThat(reason(now(engine.release(release(held))))).isEqualTo(Reason.SUSPECT_PRIMARY);
        store.refusesWith(null);
        assertThat(now(engine.keepAlive(session))).isEmpty();
        assertThat(reclaimed()).as("its client says the release again").containsExactly(held.id());
    }

    @Test
    void whatWasReleasedWhileItWasReclaimedIsNotKept() {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 7_000, 0);
        store.losesAll(10_000);
        List<Answer> released = new ArrayList<>();
        store.before(Reclaim.class, () -> released.add(now(engine.release(release(held)))));
        assertThat(now(engine.keepAlive(session))).as("lost").isEmpty();
        assertThat(released).containsExactly(new Answer.Released());
        assertThat(now(engine.renew(session, LOCK, held.id(), held.token())))
                .as("it has ended")
                .isInstanceOf(Answer.Refused.class);
    }

    @Test
    void whatComesBackToAStreamThatIsGivenUpIsGivenUp() {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 10_000, 0);
        store.losesAll(5_000);
        graceIsOver = true;
        store.before(Reclaim.class, () -> engine.detach(session, EndCause.CONNECTION_BROKE));
        assertThat(now(engine.keepAlive(session))).isEmpty();
        assertThat(reclaimed()).containsExactly(held.id());
        assertThat(reason(now(engine.release(release(held))))).isEqualTo(Reason.LEASE_EXPIRED);
    }

    @Test
    void whatWasLeftIsNotReclaimedAlsoWhenTheStoreForgetsThatToo() {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 7_000, 0);
        store.losesAll(10_000);
        assertThat(now(engine.leave(LOCK, held.request().id()))).isInstanceOf(Answer.Left.class);
        store.losesAll(10_000);
        assertThat(now(engine.keepAlive(session))).isEmpty();
        assertThat(reclaimed()).isEmpty();
    }

    @Test
    void afterTheTimeOfRecoveringAForgottenLeaseIsLost() {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 60_000, 0);
        store.losesAll(10_000);
        store.passes(10_000);
        assertThat(now(engine.keepAlive(session)))
                .containsExactly(new LockEngine.Lost(LOCK, held.id(), Optional.empty(), ""));
        assertThat(now(engine.keepAlive(session))).as("told once").isEmpty();
    }

    @Test
    void ofTwoThatBelieveThatTheyHoldOnlyTheLaterGrantIsGivenBack() {
        Session former = attach(SESSION, 1);
        Grant first = acquire(former, 7_000, 0);
        Grant second = new Grant(
                new dev.palisade.server.core.Request(
                        new RequestId(OTHER, 1), 1, new GrantId(9, 9), Mode.EXCLUSIVE, 7_000, 0, 0, "", ""),
                new FencingToken(first.token().value() + 1),
                0,
                0);
        Session successor = attach(OTHER, 1);
        successor.holds(second, LOCK);
        store.losesAll(10_000);
        assertThat(now(engine.keepAlive(former))).isEmpty();
        assertThat(now(engine.keepAlive(successor))).isEmpty();
        assertThat(former.holds(first.id())).as("ended by the later one").isFalse();
        assertThat(now(engine.keepAlive(former))).isEmpty();
        assertThat(reason(now(engine.execute(new Release(LOCK, first.id(), first.token(), SESSION)))))
                .isEqualTo(Reason.LEASE_EXPIRED);
    }

    @ParameterizedTest
    @EnumSource(names = {"RECOVERING", "SUSPECT_PRIMARY", "STORE_UNAVAILABLE", "OUTCOME_UNKNOWN"})
    void whatMayPassNeitherRenewsNorLoses(Reason reason) {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 60_000, 0);
        store.refusesWith(reason);
        assertThatThrownBy(() -> now(engine.keepAlive(session)))
                .hasRootCauseInstanceOf(RejectedException.class)
                .hasMessageContaining(reason.name());
        store.refusesWith(null);
        assertThat(session.holds(held.id())).isTrue();
        assertThat(now(engine.keepAlive(session))).isEmpty();
    }

    @Test
    void aStoreThatGoesDownBetweenTheRenewAndTheReclaimLosesNothing() {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 60_000, 0);
        store.losesAll(10_000);
        store.failsAfterNext(StoreFailure.outcomeUnknown("cut"));
        assertThatThrownBy(() -> now(engine.keepAlive(session))).hasMessageContaining("OUTCOME_UNKNOWN");
        store.fails(null);
        assertThat(session.holds(held.id())).isTrue();
        assertThat(now(engine.keepAlive(session))).isEmpty();
    }

    // ---- shown to a server that knows nothing of it

    @Test
    void aHolderThatComesToAnotherServerShowsItsSequencer() {
        Grant held = acquire(attach(SESSION, 1), 7_000, 500);
        store.losesAll(10_000);
        LockEngine another = engine();
        Session there = another.attach(SESSION, 2, "me", false, new Deaf(), SessionHolder.ANYONE);
        Answer answer = now(
                another.resume(there, LOCK, held.id(), held.token(), Optional.of(shown(held, sequencer(LOCK, held)))));
        Grant back = ((Answer.Resumed) answer).grant();
        assertThat(back.token()).isEqualTo(held.token());
        assertThat(back.request()).isEqualTo(held.request().withSessionGen(2));
        assertThat(there.holds(held.id())).as("renewed by its keep-alives").isTrue();
    }

    @Test
    void withoutASequencerAForgottenGrantIsNotGivenBack() {
        Grant held = acquire(attach(SESSION, 1), 7_000, 0);
        store.losesAll(10_000);
        Session later = attach(SESSION, 2);
        assertThat(reason(now(engine.resume(later, LOCK, held.id(), held.token(), Optional.empty()))))
                .isEqualTo(Reason.NOT_HOLDER);
    }

    @Test
    void aSequencerThatIsNotOursOrOfAnotherGrantGivesNothingBack() {
        Session session = attach(SESSION, 1);
        Grant held = acquire(session, 7_000, 0);
        Grant other = acquire(session, new LockName("b"), 7_000, 0);
        SignedSequencer right = sequencer(LOCK, held);
        store.losesAll(10_000);
        byte[] forged = right.toBytes();
        forged[forged.length - 1] ^= 1;
        Grant higher = new Grant(held.request(), new FencingToken(900), 0, 0);
        for (SignedSequencer wrong : List.of(
                SignedSequencer.of(forged),
                SignedSequencer.of(new byte[] {1, 2, 3}),
                SequencerKeys.generate()
                        .sign(new Sequencer("palisade", LOCK, Mode.EXCLUSIVE, held.token(), held.id(), 1)),
                sequencer(new LockName("b"), other),
                sequencer(new LockName("c"), held),
                sequencer(LOCK, higher))) {
            assertThat(reason(now(engine.resume(resume(held), Optional.of(shown(held, wrong))))))
                    .isEqualTo(Reason.NOT_HOLDER);
        }
        assertThat(store.asked()).noneMatch(Reclaim.class::isInstance);
        assertThat(events).anyMatch(line -> line.contains("SEQUENCER_INVALID"));
        assertThat(now(engine.resume(resume(held), Optional.of(shown(held, right)))))
                .isInstanceOf(Answer.Resumed.class);
    }

    private static Release release(Grant held) {
        return new Release(LOCK, held.id(), held.token(), SESSION);
    }

    private List<GrantId> reclaimed() {
        return store.asked().stream()
                .filter(Reclaim.class::isInstance)
                .map(command -> ((Reclaim) command).request().grant())
                .toList();
    }

    private static Resume resume(Grant held) {
        return new Resume(LOCK, held.id(), held.token(), SESSION, 2);
    }

    private static ReclaimEvidence shown(Grant held, SignedSequencer sequencer) {
        return new ReclaimEvidence(
                sequencer,
                held.request().id().number(),
                held.request().ttlMillis(),
                held.request().lockDelayMillis(),
                held.request().lockAtLeastForMillis(),
                held.request().owner(),
                held.request().purpose());
    }

    private SignedSequencer sequencer(LockName lock, Grant grant) {
        return engine.sequencer(lock, grant, 0);
    }

    private Session attach(SessionId id, long gen) {
        return engine.attach(id, gen, "me", false, new Deaf(), SessionHolder.ANYONE);
    }

    private Grant acquire(Session session, long ttlMillis, long lockDelayMillis) {
        return acquire(session, LOCK, ttlMillis, lockDelayMillis);
    }

    private Grant acquire(Session session, LockName lock, long ttlMillis, long lockDelayMillis) {
        LockEngine.AcquireParams asked = new LockEngine.AcquireParams(
                lock,
                new RequestId(session.id(), ++requests),
                Mode.EXCLUSIVE,
                ttlMillis,
                0,
                lockDelayMillis,
                1,
                0,
                "me",
                "to test",
                1);
        return ((Answer.Granted) now(engine.acquire(session, asked, LockQuota.NONE))).grant();
    }

    private static Reason reason(Answer answer) {
        return ((Answer.Refused) answer).rejection().reason();
    }

    private static <T> T now(CompletionStage<T> stage) {
        return stage.toCompletableFuture().join();
    }
}
