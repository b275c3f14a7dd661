package dev.palisade.server.store.log;

import static dev.palisade.server.store.log.Asking.acquire;
import static dev.palisade.server.store.log.Asking.name;
import static dev.palisade.server.store.log.Asking.release;
import static dev.palisade.server.store.log.SharedServers.failure;
import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.Reason;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Barrier;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.ForceRelease;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockState;
import dev.palisade.server.store.StoreFailure;
import dev.palisade.server.store.log.MemoryLogServer.Fault;
import dev.palisade.server.store.log.MemoryLogServer.Image;
import dev.palisade.server.store.log.SharedServers.Server;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A log that loses data, and a lock server that writes its memory back. */
class AfterLossTest {
    private static final Duration TRY = Duration.ZERO;
    private static final Duration MINUTE = Duration.ofMinutes(1);

    private final SharedServers servers = new SharedServers(true);
    private Server a;
    private Server b;
    private Image lagging;

    /** What happens to the data. */
    enum Loss {
        FLUSHED,
        EMPTY_RESTART,
        LAGGING_FAILOVER,
        RESTORED
    }

    @BeforeEach
    void aIsActive() {
        a = servers.server("a:7400");
        b = servers.serverWithoutInit("b:7400");
        a.store.takeTurn();
        granted(a, "old", 9, 1);
        lagging = servers.log.image();
    }

    private void lose(Loss loss) {
        switch (loss) {
            case FLUSHED -> servers.log.flush();
            case EMPTY_RESTART -> {
                servers.log.flush();
                servers.log.restart();
            }
            case LAGGING_FAILOVER -> servers.log.promote(lagging);
            case RESTORED -> servers.log.restore(lagging);
        }
    }

    private static Grant granted(Server server, String lock, long session, long request) {
        Answer answer = server.answer(acquire(lock, session, request, TRY));
        assertThat(answer).isInstanceOf(Answer.Granted.class);
        return ((Answer.Granted) answer).grant();
    }

    private static LockState described(Server server, String lock) {
        return ((Answer.Described) server.answer(new Describe(name(lock)))).state();
    }

    private static List<HistoryEntry> history(Server server, String lock) throws Exception {
        CompletableFuture<List<HistoryEntry>> told =
                server.store.history(name(lock)).toCompletableFuture();
        server.store.takeTurn();
        return told.get(1, TimeUnit.SECONDS);
    }

    /** Both ask, as they do in life. */
    private void bothLive(long millis) {
        for (long passed = 0; passed < millis; passed += 50) {
            servers.pass(50);
            a.store.takeTurn();
            b.store.takeTurn();
        }
    }

    @ParameterizedTest
    @EnumSource
    void theActiveServerContinuesAndNothingIsLost(Loss loss) throws Exception {
        Grant held = granted(a, "l", 1, 1);
        a.answer(acquire("l", 2, 1, MINUTE));
        a.answer(acquire("l", 3, 1, MINUTE));
        Grant forced = granted(a, "forced", 4, 1);
        a.answer(new ForceRelease(name("forced"), 0, "ops", "stuck"));
        List<HistoryEntry> before = history(a, "l");
        lose(loss);
        CompletableFuture<Answer> asked = a.ask(acquire("during", 5, 1, TRY));
        bothLive(1_500);
        assertThat(a.isActive()).isTrue();
        Grant during = granted(a, "during", 5, 2);
        assertThat(failure(asked)).get().matches(StoreFailure::isOutcomeUnknown);
        assertThat(history(a, "l")).isEqualTo(before);
        assertThat(described(a, "l").holders()).extracting(Grant::id).containsExactly(held.id());
        assertThat(described(a, "old").holders()).hasSize(1);
        Grant later = granted(a, "later", 6, 1);
        assertThat(later.token().value()).isGreaterThan(during.token().value());
        assertThat(a.deposed).isEmpty();

        a.store.close();
        b.live(300); // It looks each 100 ms.
        assertThat(b.isActive()).as("the log is whole again").isTrue();
        assertThat(described(b, "l").holders()).extracting(Grant::id).containsExactly(held.id());
        assertThat(described(b, "l").waiters())
                .extracting(waiter -> waiter.request().id().session().low())
                .containsExactly(2L, 3L);
        assertThat(described(b, "during").holders()).hasSize(1);
        assertThat(history(b, "forced")).anySatisfy(entry -> {
            assertThat(entry.what()).isEqualTo(HistoryEntry.What.FORCE_RELEASED);
            assertThat(entry.grant()).isEqualTo(forced.id());
        });
        assertThat(b.answer(release(name("l"), held))).isInstanceOf(Answer.Released.class);
        assertThat(granted(b, "b's", 7, 1).token().value())
                .isGreaterThan(later.token().value());
    }

    /** Somebody may have issued tokens that the log does not know any more. */
    @Test
    void anEpochOfTokensBegins() {
        Grant before = granted(a, "l", 1, 1);
        long base = a.store.epochBase();
        servers.log.flush();
        var unused = a.ask(new Describe(name("l")));
        bothLive(1_500);
        assertThat(a.store.epochBase())
                .isGreaterThan(base)
                .isGreaterThan(before.token().value());
        assertThat(granted(a, "m", 1, 2).token().value()).isGreaterThan(a.store.epochBase());
        assertThat(servers.log.state().tokens()).isGreaterThan(a.store.epochBase());
        assertThat(a.store.status().epoch().orElseThrow().why()).contains("wrote its memory back");
    }

    /** Found by incidents: demoted and promoted at once, while another server issued tokens at another primary. */
    @Test
    void anEpochOfTokensBeginsAlsoWhereNothingIsMissing() {
        Grant before = granted(a, "l", 1, 1);
        long base = a.store.epochBase();
        servers.log.reloadLibrary();
        bothLive(1_000);
        granted(a, "k", 1, 3);
        assertThat(a.store.epochBase()).as("nothing broke it").isEqualTo(base);
        servers.log.promote(servers.log.image());
        bothLive(1_500);
        assertThat(a.isActive()).isTrue();
        assertThat(described(a, "l").holders()).extracting(Grant::id).containsExactly(before.id());
        assertThat(a.store.epochBase()).isGreaterThan(base);
        Grant after = granted(a, "m", 1, 2);
        assertThat(after.token().value()).isGreaterThan(a.store.epochBase());
        a.store.close();
        b.live(300);
        assertThat(granted(b, "n", 5, 5).token().value())
                .isGreaterThan(after.token().value());
    }

    /** The copy goes on where it is allowed: what was held is still held when the log has space again. */
    @Test
    void aCopyIntoAFullLogFreesOnly() {
        Grant held = granted(a, "l", 1, 1);
        servers.log.full(true);
        servers.log.flush();
        var unused = a.ask(acquire("m", 2, 1, TRY));
        bothLive(6_000);
        assertThat(a.store.standby()).isEmpty();
        assertThat(a.answer(acquire("n", 3, 1, TRY))).isInstanceOf(Answer.Refused.class);
        assertThat(a.answer(release(name("l"), held))).isInstanceOf(Answer.Released.class);
        servers.log.full(false);
        bothLive(1_000);
        granted(a, "n", 3, 2);
    }

    /** The parts that are stored do not make the log of before the memory of now. */
    @Test
    void aCopyThatStoppedHalfwayIsMadeAgainThoughTheDataAreBack() {
        for (int i = 0; i < 5_000; i++) {
            var ignored = a.send(acquire("l" + i, i + 1, 1, TRY));
            if (i % 1_000 == 999) {
                a.store.takeTurn();
            }
        }
        Image whole = servers.log.image();
        servers.log.flush();
        var unused = a.ask(new Describe(name("l1")));
        for (int i = 0; i < 40 && servers.log.state().head() == null; i++) {
            bothLive(50);
            servers.log.next();
        }
        a.client.cut(true);
        servers.log.restore(whole);
        bothLive(100);
        a.client.cut(false);
        bothLive(3_000);
        assertThat(a.isActive()).isTrue();
        a.store.close();
        b.live(300);
        for (int i : new int[] {0, 2_500, 4_999}) {
            assertThat(described(b, "l" + i).holders()).as("l" + i).hasSize(1);
        }
    }

    @Test
    void aRecoveryWindowOutlivesAnotherLoss() {
        granted(a, "l", 1, 1);
        a.client.cut(true);
        servers.log.flush();
        b.live(4_000);
        assertThat(b.isActive()).isTrue();
        servers.log.flush();
        var unused = b.ask(new Describe(name("l")));
        b.live(1_500);
        assertThat(b.isActive()).isTrue();
        assertThat(b.answer(acquire("l", 2, 1, TRY)))
                .isInstanceOfSatisfying(
                        Answer.Refused.class,
                        refused -> assertThat(refused.rejection().reason()).isEqualTo(Reason.RECOVERING));
        b.live(11_000);
        granted(b, "l", 2, 2);
    }

    @ParameterizedTest
    @EnumSource(names = {"LOST", "UNANSWERED", "REFUSED"})
    void aCopyThatFailsIsWrittenAgain(Fault fault) {
        Grant held = granted(a, "l", 1, 1);
        servers.log.flush();
        CompletableFuture<Answer> asked = a.ask(acquire("during", 5, 1, TRY));
        bothLive(900);
        assertThat(a.isActive()).isFalse();
        for (int i = 0; i < 20 && !a.isActive(); i++) {
            if (i % 2 == 0) { // Of the claims and the copies.
                servers.log.next(fault);
            }
            a.live(50);
        }
        bothLive(2_000);
        assertThat(a.isActive()).isTrue();
        assertThat(asked).isDone();
        assertThat(described(a, "l").holders()).extracting(Grant::id).containsExactly(held.id());
        a.store.close();
        b.live(300);
        assertThat(described(b, "l").holders()).extracting(Grant::id).containsExactly(held.id());
    }

    @Test
    void aLargeMemoryIsCopiedInPartsAndCountsWhenItIsComplete() {
        for (int i = 0; i < 25_000; i++) {
            var ignored = a.send(acquire("l" + i, i + 1, 1, TRY));
            if (i % 1_000 == 999) {
                a.store.takeTurn();
            }
        }
        servers.log.flush();
        var unused = a.ask(new Describe(name("l")));
        int appends = servers.log.appends();
        bothLive(1_500);
        assertThat(a.isActive()).isTrue();
        assertThat(servers.log.appends() - appends).as("three parts").isGreaterThanOrEqualTo(3);
        assertThat(servers.log.records()).hasSize(25_002);
        a.store.close();
        b.live(300);
        assertThat(described(b, "l24999").holders()).hasSize(1);
    }

    @Test
    void aServerWhoseMemoryIsOlderThanTheLogWas() {
        Grant held = granted(a, "l", 1, 1);
        a.client.cut(true);
        b.live(2_500);
        assertThat(b.isActive()).isTrue();
        b.answer(release(name("l"), held));
        Grant newer = granted(b, "l", 2, 1);
        servers.log.flush();
        a.client.cut(false);
        bothLive(4_000);
        assertThat(b.isActive()).as("the last owner").isTrue();
        assertThat(a.isActive()).isFalse();
        assertThat(described(b, "l").holders()).extracting(Grant::id).containsExactly(newer.id());
    }

    @Test
    void withoutItsLastOwnerTheLogHasARecoveryWindow() {
        granted(a, "l", 1, 1);
        servers.log.flush();
        b.live(4_000);
        assertThat(b.isActive()).isTrue();
        assertThat(b.store.status().epoch().orElseThrow().why()).isEqualTo("the log may have lost data");
        assertThat(b.answer(acquire("m", 2, 1, TRY)))
                .isInstanceOfSatisfying(
                        Answer.Refused.class,
                        refused -> assertThat(refused.rejection().reason()).isEqualTo(Reason.RECOVERING));
    }

    /** Found by walks: the former owner decided with tokens of its time, and the log that went back to it took them. */
    @Test
    void whatWasDecidedBeforeTheLossWasNoticedHasNoTokenOfBefore() {
        Grant queue = granted(a, "queue", 1, 1);
        a.answer(acquire("queue", 4, 1, MINUTE));
        Image ofA = servers.log.image();
        b.live(2_500);
        Grant newer = granted(b, "m", 2, 1);
        servers.log.promote(ofA);
        a.told.clear();
        CompletableFuture<Answer> released = a.send(release(name("queue"), queue));
        CompletableFuture<Answer> granted = a.send(acquire("n", 3, 1, TRY));
        CompletableFuture<Answer> again = a.send(acquire("n", 3, 1, TRY));
        CompletableFuture<Answer> barrier = a.ask(new Barrier(name("n")));
        a.live(1_500);
        assertThat(a.isActive()).isTrue();
        for (CompletableFuture<Answer> told : List.of(granted, again, barrier)) {
            assertThat(failure(told)).get().matches(StoreFailure::isOutcomeUnknown);
        }
        assertThat(released.getNow(null)).isInstanceOf(Answer.Released.class);
        assertThat(a.told)
                .filteredOn(LockEvent.Offered.class::isInstance)
                .singleElement()
                .isInstanceOfSatisfying(
                        LockEvent.Offered.class,
                        offered -> assertThat(offered.token()).isGreaterThan(newer.token()));
        assertThat(granted(a, "n", 3, 2).token()).isGreaterThan(newer.token());
        assertThat(((Answer.Raised) a.answer(new Barrier(name("n")))).barrier()).isGreaterThan(newer.token());
        a.store.close();
        b.live(300);
        assertThat(described(b, "n").holders()).hasSize(1);
    }

    /** Found by the model: the batch that is sent again has no reply, and the next claim finds the log whole. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
    void tokensAreAboveThoseOfBeforeTheLossWhicheverReplyIsLost(int answered) {
        granted(a, "l", 1, 1);
        Image ofA = servers.log.image();
        b.live(2_500);
        Grant newer = granted(b, "m", 2, 1);
        servers.log.promote(ofA);
        for (int i = 0; i < answered; i++) {
            servers.log.next(Fault.REPEATED); // It is answered, and the repetition does not arrive.
        }
        servers.log.next(Fault.UNANSWERED);
        CompletableFuture<Answer> asked = a.send(acquire("n", 3, 1, TRY));
        a.live(3_000);
        assertThat(a.isActive()).isTrue();
        if (failure(asked).isEmpty()) {
            assertThat(asked.join())
                    .isInstanceOfSatisfying(
                            Answer.Granted.class,
                            granted -> assertThat(granted.grant().token()).isGreaterThan(newer.token()));
        }
        assertThat(granted(a, "o", 3, 2).token()).isGreaterThan(newer.token());
    }

    @Test
    void tokensStayAboveThoseOfBefore() {
        Grant before = granted(a, "l", 1, 1);
        servers.log.promote(lagging);
        var unused = a.ask(new Describe(name("l")));
        bothLive(1_500);
        a.answer(release(name("l"), before));
        assertThat(granted(a, "l", 2, 1).token().value())
                .isGreaterThan(before.token().value() + FencingToken.PER_GRANT - 1);
    }
}
