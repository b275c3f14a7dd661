package dev.palisade.server.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.server.core.Abandon;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.EndCause;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.Request;
import dev.palisade.server.store.MemoryStore;
import dev.palisade.server.store.StoreFailure;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** What an engine does while its store is away. */
class StoreAwayTest {
    private static final SessionId SESSION = new SessionId(1, 1);
    private static final LockName LOCK = new LockName("a");

    private final MemoryStore store = new MemoryStore();
    private final SequencerKeys keys = SequencerKeys.generate();
    private final List<String> events = new ArrayList<>();
    private final List<Runnable> timers = new ArrayList<>();
    private final LockEngine engine = new LockEngine(
            store,
            keys::sign,
            keys.verifier("palisade")::verify,
            new EngineConfig("palisade", 1_000, 100, 100),
            (millis, task) -> timers.add(task),
            new EventLog(events::add, () -> 0, 100),
            new byte[16]);

    private Session attach(long gen) {
        return engine.attach(SESSION, gen, "me", false, new Deaf(), new SessionHolder("web", 10));
    }

    private Grant heldBy(Session session) {
        Request request =
                new Request(new RequestId(SESSION, 1), 1, new GrantId(1, 1), Mode.EXCLUSIVE, 60_000, 0, 0, "", "");
        Grant grant = ((Answer.Granted) now(store.execute(new Acquire(LOCK, request, 0, 0, Long.MAX_VALUE)))).grant();
        session.holds(grant, LOCK);
        return grant;
    }

    private static Answer now(CompletionStage<Answer> answer) {
        return answer.toCompletableFuture().join();
    }

    private void timePasses() {
        List<Runnable> due = List.copyOf(timers);
        timers.clear();
        due.forEach(Runnable::run);
    }

    @Test
    void aClientThatIsBackBeforeTheStoreKeepsItsLease() {
        Session first = attach(1);
        Grant held = heldBy(first);
        store.fails(StoreFailure.unavailable("away"));
        engine.detach(first, EndCause.CONNECTION_BROKE);
        Session later = attach(2);
        timePasses();
        store.fails(null);
        timePasses();
        assertThat(now(engine.resume(later, LOCK, held.id(), held.token(), Optional.empty())))
                .isInstanceOf(Answer.Resumed.class);
    }

    /** As of a log that is full: nothing can restore the lease of a client that is back. */
    @Test
    void aClientThatIsBackKeepsItsLeaseWhileTheStoreRefuses() {
        Session first = attach(1);
        Grant held = heldBy(first);
        store.refusesWith(Reason.STORE_UNAVAILABLE);
        engine.detach(first, EndCause.CONNECTION_BROKE);
        Session later = attach(2);
        timePasses();
        store.refusesWith(null);
        timePasses();
        assertThat(now(engine.resume(later, LOCK, held.id(), held.token(), Optional.empty())))
                .isInstanceOf(Answer.Resumed.class);
    }

    @Test
    void theLeaseOfOneThatIsNotBackIsFreedOnceTheStoreDoesNotRefuse() {
        Session first = attach(1);
        Grant held = heldBy(first);
        store.refusesWith(Reason.STORE_UNAVAILABLE);
        engine.detach(first, EndCause.CONNECTION_BROKE);
        timePasses();
        store.refusesWith(null);
        timePasses();
        assertThat(now(store.execute(new Abandon(LOCK, held.id(), 1, EndCause.CONNECTION_BROKE))))
                .as("it ended before")
                .isEqualTo(new Answer.Abandoned(false));
    }

    @Test
    void theLeaseOfAClientThatIsBackCountsForItsQuota() {
        Session first = attach(1);
        engine.counted("web", LOCK, heldBy(first));
        store.fails(StoreFailure.unavailable("away"));
        engine.detach(first, EndCause.CONNECTION_BROKE);
        assertThat(attach(2).isConnected()).isTrue();
        timePasses();
        assertThat(engine.locksOf("web")).isEqualTo(1);
    }

    @Test
    void theLeaseOfOneThatIsNotBackIsFreed() {
        Session first = attach(1);
        heldBy(first);
        store.fails(StoreFailure.unavailable("away"));
        engine.detach(first, EndCause.CONNECTION_BROKE);
        timePasses();
        store.fails(null);
        timePasses();
        assertThat(store.asked().stream().filter(Abandon.class::isInstance)).hasSize(2);
    }

    /** The client counts it as lost at its local deadline, and the store extends it when it is back. */
    @Test
    void leaseThatItsClientLostInAnOutageExpiresBecauseOfIt() {
        Session first = attach(1);
        heldBy(first);
        store.fails(StoreFailure.unavailable("away"));
        assertThat(engine.keepAlive(first).toCompletableFuture()).isCompletedExceptionally();
        Session later = attach(2);
        timePasses();
        store.fails(null);
        store.passes(20_000);
        engine.frameArrived(later, 1);
        store.passes(40_000);
        assertThat(events).last().asString().startsWith("event=lease_expired ").contains(" cause=STORE_OUTAGE ");
    }

    /** As of a log that refuses records for lack of space: it goes on, and only frees locks. */
    @Test
    void aStoreThatRefusesIsAway() {
        store.refusesWith(Reason.STORE_UNAVAILABLE);
        var unused = now(engine.execute(new Describe(LOCK)));
        assertThat(events).anyMatch(line -> line.startsWith("event=store_unavailable"));
    }

    /** It goes on to describe locks, and `palisade status` says that it is down. */
    @Test
    void descriptionsDoNotEndTheOutageOfAFullStore() {
        store.full(true);
        var unused = now(engine.execute(new Abandon(LOCK, new GrantId(9, 9), 1, EndCause.CONNECTION_BROKE)));
        unused = now(engine.execute(new Describe(LOCK)));
        timePasses();
        unused = now(engine.execute(new Describe(LOCK)));
        timePasses();
        assertThat(events).singleElement().asString().startsWith("event=store_unavailable");
        store.full(false);
        unused = now(engine.execute(new Describe(LOCK)));
        timePasses();
        assertThat(events).last().asString().startsWith("event=store_available");
    }

    /** Else its next outage, as the active server hours later, would be the same one, without a line. */
    @Test
    void outageEndsWhenTheServerBecomesStandby() {
        store.refusesWith(Reason.STORE_UNAVAILABLE);
        var unused = now(engine.execute(new Describe(LOCK)));
        store.standsBy(StoreFailure.notActive("this lock server is a standby", "b:7400", false));
        store.passes(60_000);
        timePasses();
        assertThat(events).last().isEqualTo("event=store_available refused=1 after_ms=0 standby=true");
        store.standsBy(null);
        unused = now(engine.execute(new Describe(LOCK)));
        assertThat(events)
                .filteredOn(line -> line.startsWith("event=store_unavailable"))
                .hasSize(2);
    }
}
