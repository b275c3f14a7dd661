package dev.palisade.server.core.explain;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.server.core.Abandon;
import dev.palisade.server.core.Accept;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Decision;
import dev.palisade.server.core.EndCause;
import dev.palisade.server.core.Expire;
import dev.palisade.server.core.ForceRelease;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.HistoryRecorder;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockMachine;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Release;
import dev.palisade.server.core.Renew;
import dev.palisade.server.core.Request;
import dev.palisade.server.core.StoreStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Traces of the lock machine, each explained afterwards. The first grant has token 1, the second 33. */
class GrantExplainerTest {
    private static final LockName LOCK = new LockName("orders");
    private static final long TTL = 10_000;

    private LockState state = LockState.unused(LOCK, 0);
    private final List<HistoryEntry> history = new ArrayList<>();
    private final List<RefusalReport> refusals = new ArrayList<>();
    private Optional<StoreStatus.Epoch> epoch = Optional.empty();
    private Function<GrantId, Optional<Long>> lastFrame = grant -> Optional.empty();
    private final List<StoreOutage> outages = new ArrayList<>();
    private long lastToken;
    private long now = 1_000_000;

    private GrantExplainerTest step(Command command) {
        Decision decision = LockMachine.step(state, command, now, lastToken, Limits.DEFAULTS);
        HistoryRecorder.record(state, decision, now, (lock, entry) -> history.add(entry));
        state = decision.next();
        lastToken = decision.lastToken();
        return this;
    }

    private GrantExplainerTest after(long millis) {
        now += millis;
        return this;
    }

    private static SessionId session(String owner) {
        return new SessionId(owner.hashCode(), 1);
    }

    private static GrantId grant(String owner) {
        return new GrantId(owner.hashCode(), 32);
    }

    private GrantExplainerTest acquire(String owner, long waitMillis) {
        return acquire(owner, Mode.EXCLUSIVE, waitMillis);
    }

    private GrantExplainerTest share(String owner) {
        return acquire(owner, Mode.SHARED, 0);
    }

    private GrantExplainerTest acquire(String owner, Mode mode, long waitMillis) {
        Request request = new Request(
                new RequestId(session(owner), 1), 1, grant(owner), mode, TTL, 0, 0, owner, "work of " + owner);
        return step(new Acquire(LOCK, request, waitMillis, 0, Long.MAX_VALUE));
    }

    private GrantExplainerTest accept(String owner, long token) {
        return step(new Accept(LOCK, grant(owner), new FencingToken(token), session(owner), 1));
    }

    private GrantExplainerTest refused(String reason, long presented, long mark) {
        refusals.add(new RefusalReport(
                "shop",
                "",
                LOCK,
                "orders-7",
                reason,
                presented,
                mark,
                mark == 0 ? OptionalLong.empty() : OptionalLong.of(now - 50),
                now,
                now,
                1));
        return this;
    }

    private GrantExplanation explained(long token) {
        return GrantExplainer.explain(
                new LockEvidence(state, now, history, epoch, refusals, lastFrame, outages), token);
    }

    private static List<String> whats(GrantExplanation explanation) {
        return explanation.events().stream().map(GrantExplanation.Event::what).toList();
    }

    @Test
    void anExpiredLeaseIsToldUpToTheRefusal() {
        acquire("a", 0).after(2_000).acquire("b", 60_000).after(8_000).step(new Expire(LOCK));
        after(20).accept("b", 33).after(500).refused("TOKEN_STALE", 1, 33).after(1_000);
        GrantExplanation explained = explained(1);
        assertThat(explained.state()).isEqualTo(TokenState.EXPIRED);
        assertThat(explained.summary())
                .isEqualTo("Token 1 of lock 'orders' is over: the lease of 'a' expired; now 'b' holds the lock with"
                        + " token 33; guards refused one call with it.");
        assertThat(whats(explained)).containsExactly("GRANTED", "EXPIRED", "ACCEPTED", "MARK_RAISED", "REFUSED");
        assertThat(explained.events().stream().map(GrantExplanation.Event::text))
                .containsExactly(
                        "'a' got the lock with token 1 (purpose 'work of a').",
                        "The lease expired: no renewal by 'a' arrived in time.",
                        "Next: 'b' accepted the offer: it holds the lock with token 33.",
                        "The guard 'shop' first saw token 33 on 'orders-7', and raised its mark to it.",
                        "The guard 'shop' refused a call with token 1 on 'orders-7' as TOKEN_STALE: it had seen token 33.");
        assertThat(explained.advice().get(0)).startsWith("Close the lease, acquire the lock again");
        assertThat(explained.unknown()).hasSize(1);
    }

    @Test
    void anExpiredLeaseHasItsClientsLastFrame() {
        acquire("a", 0).after(TTL).step(new Expire(LOCK));
        lastFrame = grant -> grant.equals(grant("a")) ? Optional.of(now - 9_000) : Optional.empty();
        assertThat(whats(explained(1))).containsExactly("GRANTED", "LAST_FRAME", "EXPIRED");
        assertThat(explained(1).unknown()).noneMatch(line -> line.contains("last sent a frame"));
        lastFrame = grant -> Optional.empty();
        assertThat(explained(1).unknown()).anyMatch(line -> line.contains("last sent a frame"));
    }

    @Test
    void withoutATokenTheLastRefusalIsExplained() {
        acquire("a", 0).after(TTL).acquire("b", 0).after(10).refused("TOKEN_STALE", 1, 33);
        assertThat(explained(0)).isEqualTo(explained(1));
        refusals.clear();
        assertThat(explained(0)).isEqualTo(explained(33));
    }

    @Test
    void aHeldLeaseNamesItsLastRenewal() {
        acquire("a", 0)
                .after(3_000)
                .step(new Renew(LOCK, grant("a"), new FencingToken(1), session("a")))
                .after(1_000);
        GrantExplanation explained = explained(1);
        assertThat(explained.state()).isEqualTo(TokenState.HELD);
        assertThat(whats(explained)).containsExactly("GRANTED", "LAST_RENEWED");
        assertThat(explained.events().get(1).atMillis()).isEqualTo(now - 1_000);
        assertThat(explained.unknown()).anyMatch(line -> line.startsWith("No guard reported"));
        assertThat(explained.advice())
                .singleElement(InstanceOfAssertFactories.STRING)
                .startsWith("No refused call with this token is known.");
    }

    /** Such as the newest token of a lock whose former holder was refused by a guard that does not report. */
    @Test
    void aReleasedLeaseWithoutARefusalIsNotBlamed() {
        acquire("a", 0).after(5).step(new Release(LOCK, grant("a"), new FencingToken(1), session("a")));
        assertThat(explained(1).advice().get(0)).startsWith("If a call with this token was refused, the client sent");
        assertThat(explained(1).advice().get(1)).contains("give its token: --token");
    }

    @Test
    void aHeldTokenThatIsRefusedAsStaleIsNoFaultOfItsHolder() {
        acquire("a", 0).after(100).refused("TOKEN_STALE", 1, 900);
        assertThat(explained(1).advice().get(0)).startsWith("A guard refuses this token although its lease stands");
        assertThat(explained(1).unknown()).anyMatch(line -> line.contains("begins with a newer token"));
    }

    @Test
    void aReleasedLeaseMeansALateCall() {
        acquire("a", 0).after(5).step(new Release(LOCK, grant("a"), new FencingToken(1), session("a")));
        after(5).acquire("b", 0).refused("TOKEN_STALE", 1, 33);
        assertThat(explained(1).state()).isEqualTo(TokenState.RELEASED);
        assertThat(explained(1).advice().get(0)).startsWith("The client sent a call after its release");
    }

    @Test
    void aForcedReleaseNamesTheOperator() {
        acquire("a", 0).after(5).step(new ForceRelease(LOCK, 0, "ops", "stuck"));
        assertThat(explained(1).state()).isEqualTo(TokenState.FORCE_RELEASED);
        assertThat(explained(1).events().get(1).text())
                .isEqualTo("An operator ended the lease (force-release): 'by ops: stuck'.");
        assertThat(explained(1).summary()).contains("now no client holds the lock");
    }

    @ParameterizedTest
    @EnumSource
    void abandonedLeaseHasItsCause(EndCause cause) {
        acquire("a", 0).after(5).step(new Abandon(LOCK, grant("a"), 1, cause));
        assertThat(history.get(1).cause()).contains(cause);
        assertThat(explained(1).state()).isEqualTo(TokenState.ABANDONED);
        assertThat(explained(1).events().get(1).text()).isEqualTo("The lease of 'a' was ended: " + cause.words() + ".");
    }

    @Test
    void causeThatAnOlderServerDidNotRecordIsNotGuessed() {
        acquire("a", 0).after(5).step(new Abandon(LOCK, grant("a"), 1, EndCause.CONNECTION_BROKE));
        HistoryEntry ended = history.remove(1);
        history.add(new HistoryEntry(ended.atMillis(), ended.what(), ended.token(), ended.grant(), ended.owner(), ""));
        assertThat(history.get(1).cause()).isEmpty();
        assertThat(explained(1).events().get(1).text()).contains("why is not recorded");
    }

    @Test
    void anOfferThatLapsedWasNeverTaken() {
        acquire("a", 0).acquire("b", 60_000).step(new Release(LOCK, grant("a"), new FencingToken(1), session("a")));
        assertThat(explained(33).state()).isEqualTo(TokenState.OFFERED);
        after(2_000).step(new Expire(LOCK));
        assertThat(explained(33).state()).isEqualTo(TokenState.NOT_TAKEN);
        assertThat(explained(65).state()).isEqualTo(TokenState.OFFERED);
        accept("b", 65);
        assertThat(explained(33).state())
                .as("its request holds by a later token")
                .isEqualTo(TokenState.NOT_TAKEN);
        assertThat(explained(65).state()).isEqualTo(TokenState.HELD);
    }

    @Test
    void aTokenOfALocalHandOffIsThatOfItsGrant() {
        acquire("a", 0).after(TTL).acquire("b", 0).refused("TOKEN_STALE", 7, 33);
        GrantExplanation explained = explained(7);
        assertThat(explained.token()).isEqualTo(7);
        assertThat(explained.summary()).startsWith("Token 7 (a local hand-off of token 1) of lock 'orders' is over");
        assertThat(explained.state()).isEqualTo(TokenState.EXPIRED);
        assertThat(whats(explained)).contains("GRANTED", "EXPIRED", "REFUSED");
    }

    @Test
    void aTokenOfBeforeALostStoreIsToldAsSuch() {
        epoch = Optional.of(new StoreStatus.Epoch(5_000, now - 60_000, "the store was emptied", 0, 0));
        lastToken = 5_000;
        acquire("b", 0).refused("TOKEN_STALE", 40, 5_001);
        GrantExplanation explained = explained(40);
        assertThat(explained.state()).isEqualTo(TokenState.BEFORE_EPOCH);
        assertThat(whats(explained)).contains("EPOCH_BEGAN", "GRANTED", "REFUSED");
        assertThat(explained.events().get(0).text()).contains("above 5000, because the store was emptied");
    }

    @Test
    void aForgottenTokenIsNotInvented() {
        lastToken = 1_000;
        acquire("b", 0);
        GrantExplanation explained = explained(40);
        assertThat(explained.state()).isEqualTo(TokenState.FORGOTTEN);
        assertThat(whats(explained)).as("only the next grant").containsExactly("GRANTED");
        assertThat(explained.unknown().get(0)).startsWith("The history of the lock has no event of this token");
    }

    @Test
    void whatTheHistoryForgotIsTakenFromTheLock() {
        acquire("a", 0).after(TTL).acquire("b", 0);
        history.clear();
        assertThat(explained(1).state()).as("by its recorded end").isEqualTo(TokenState.EXPIRED);
        assertThat(whats(explained(1))).containsExactly("EXPIRED", "GRANTED");
        assertThat(explained(33).state()).isEqualTo(TokenState.HELD);
        assertThat(whats(explained(33))).containsExactly("GRANTED");
    }

    /** 'b' had the lock, too; its entries are gone, and those of 'c' are not. */
    @Test
    void nextGrantIsNotNamedBehindAGapOfTheHistory() {
        acquire("a", 0).after(TTL).acquire("b", 0).after(TTL).acquire("c", 0).refused("TOKEN_STALE", 1, 65);
        assertThat(explained(1).events()).anyMatch(event -> event.text().startsWith("Next: 'b' got the lock"));
        assertThat(explained(1).unknown()).noneMatch(line -> line.contains("next"));

        history.subList(2, 4).clear();
        history.set(2, history.get(2).afterGap());
        assertThat(explained(1).events()).noneMatch(event -> event.text().startsWith("Next:"));
        assertThat(whats(explained(1))).as("the holder of now").contains("GRANTED", "EXPIRED", "GRANTED", "REFUSED");
        assertThat(explained(1).unknown())
                .anyMatch(line -> line.startsWith("Which client got the lock next is not known"));
    }

    @Test
    void tokenThatNoClientIsKnownToHaveIsSaidToBeUnknown() {
        acquire("a", 0).after(TTL).acquire("b", 0).refused("TOKEN_STALE", 1, 34);
        assertThat(explained(1).unknown()).noneMatch(line -> line.contains("token 34"));
        refused("TOKEN_STALE", 1, 99);
        assertThat(explained(1).unknown()).anyMatch(line -> line.startsWith("Which client got token 99 is not known"));
    }

    @Test
    void outageOfTheStoreIsAnEventOfTheLeasesThatItMayHaveEnded() {
        acquire("a", 0).after(4_000);
        outages.add(new StoreOutage(now, now + 3_000, 7, true));
        after(6_000).step(new Expire(LOCK));
        lastFrame = grant -> Optional.of(now + 1_500);
        assertThat(whats(explained(1))).containsExactly("GRANTED", "STORE_OUTAGE", "EXPIRED", "LAST_FRAME");
        assertThat(explained(1).events().get(1).text())
                .isEqualTo("This lock server could not use its store from here on for 3.0 s. It refused 7 calls, and no"
                        + " lease could be renewed meanwhile.");
        assertThat(explained(1).events().get(3).text())
                .isEqualTo("'a' was not silent: the lock server received a frame from it 1.5 s after the lease ended.");
        assertThat(explained(1).advice()).anyMatch(line -> line.startsWith("The store was away"));
        after(1_000).acquire("b", 0).after(10);
        assertThat(whats(explained(33))).as("after the outage").doesNotContain("STORE_OUTAGE");
        outages.add(new StoreOutage(now, now, 1, false));
        assertThat(explained(33).events()).anyMatch(event -> event.text().contains("and still cannot"));
        assertThat(explained(33).advice()).noneMatch(line -> line.startsWith("The store was away"));
    }

    @Test
    void callOfUnknownOutcomeIsNotCalledRefused() {
        acquire("a", 0).refused("OUTCOME_UNKNOWN", 1, 0);
        assertThat(explained(1).summary()).endsWith("; the outcome of one call with it is not known.");
        assertThat(explained(1).events().get(1).text()).contains("does not know the outcome of a call with token 1");
        assertThat(explained(1).advice()).anyMatch(line -> line.contains("may have been applied"));
        refused("DRAINING", 1, 0);
        assertThat(explained(1).summary())
                .endsWith("; guards refused one call with it; the outcome of one call with it is not known.");
    }

    @Test
    void lateCallOfAnotherThreadIsNamedAsSuch() {
        acquire("a", 0).refused("TOKEN_STALE", 1, 2);
        assertThat(explained(1).state()).isEqualTo(TokenState.HELD);
        assertThat(explained(1).advice()).anyMatch(line -> line.startsWith("Another thread of this client"));
        refused("TOKEN_STALE", 1, 33);
        assertThat(explained(1).advice()).anyMatch(line -> line.contains("lost its marks"));
    }

    /** Two leases that share the lock: the newer one explains why the older one's calls are refused. */
    @Test
    void guardIsNotBlamedForATokenThatAnotherLeaseOfTheLockHas() {
        share("a").share("b").refused("TOKEN_STALE", 1, 33);
        assertThat(explained(1).state()).isEqualTo(TokenState.HELD);
        assertThat(explained(1).advice()).noneMatch(line -> line.contains("lost its marks"));
        assertThat(explained(33).advice()).noneMatch(line -> line.contains("lost its marks"));
        share("c").step(new Release(LOCK, grant("a"), new FencingToken(1), session("a")));
        assertThat(explained(1).summary()).contains("; now 2 clients share the lock");
    }

    /** None of what strangers write reads like a sentence of the lock server. */
    @Test
    void textsOfStrangersStayWithinTheirQuotationMarks() {
        String evil = "a' released the lock. The guard 'x\u202e\n";
        acquire(evil, 0).after(5).step(new ForceRelease(LOCK, 0, evil, evil));
        refusals.add(new RefusalReport(evil, evil, LOCK, evil, evil, 1, 0, OptionalLong.empty(), now, now, 2));
        GrantExplanation explained = explained(1);
        List<String> all = new ArrayList<>(explained.advice());
        all.add(explained.summary());
        explained.events().forEach(event -> all.add(event.text()));
        assertThat(all).filteredOn(line -> line.contains("released the lock")).hasSizeGreaterThan(4);
        assertThat(all).noneMatch(line -> line.contains("\u202e") || line.contains("\n"));
        assertThat(all.stream().map(line -> line.replaceAll("'(?:[^'\\\\]|\\\\.)*'", "")))
                .noneMatch(line -> line.contains("released the lock"));
    }

    @Test
    void ownerThatIsNotKnownIsNotAClientWithoutAName() {
        acquire("a", 0).after(TTL).step(new Expire(LOCK));
        history.clear();
        assertThat(explained(1).summary())
                .isEqualTo("Token 1 of lock 'orders' is over: the lease of a client that is not known expired; now no"
                        + " client holds the lock.");
        acquire("", 0);
        assertThat(explained(33).summary()).endsWith("is held by a client without a name.");
    }

    /** One request, one grant id, two offers: each token has its own story. */
    @Test
    void secondOfferOfARequestIsNotToldAsAnEventOfTheFirst() {
        acquire("a", 0).acquire("b", 60_000).step(new Release(LOCK, grant("a"), new FencingToken(1), session("a")));
        after(2_000).step(new Expire(LOCK)).accept("b", 65);
        assertThat(whats(explained(33))).containsExactly("QUEUED", "OFFERED", "LAPSED", "ACCEPTED");
        assertThat(explained(33).events().get(3).text()).startsWith("Next: 'b' accepted");
        assertThat(whats(explained(65))).containsExactly("QUEUED", "OFFERED", "ACCEPTED");
    }

    @Test
    void eventsBeyondTheMostAreCounted() {
        acquire("a", 0);
        for (int i = 0; i < 60; i++) {
            refused("DRAINING " + i, 1, 0);
            refusals.set(i, refusals.get(i).and(refusals.get(i)));
        }
        assertThat(explained(1).events()).hasSize(GrantExplanation.EVENTS_MAX);
        assertThat(explained(1).unknown())
                .last()
                .isEqualTo("21 earlier events were left out: an explanation has the newest 100.");
    }

    @Test
    void aTokenOfTheFutureIsNotGranted() {
        acquire("a", 0);
        assertThat(explained(33).state()).isEqualTo(TokenState.NOT_GRANTED);
        assertThat(explained(33).advice().get(0)).startsWith("Check that the token");
    }

    @Test
    void nothingKnownIsSaid() {
        assertThat(explained(7).state()).isEqualTo(TokenState.UNKNOWN);
        GrantExplanation whole = explained(0);
        assertThat(whole.token()).isZero();
        assertThat(whole.summary()).isEqualTo("No grant of lock 'orders' is known.");
    }

    @Test
    void otherReasonsPointToTheirPageAndOtherTokensAreNamed() {
        acquire("a", 0)
                .refused("MODE_NOT_ALLOWED", 1, 0)
                .refused("DRAINING", 1, 0)
                .refused("TOKEN_STALE", 700, 800);
        List<String> advice = explained(1).advice();
        assertThat(advice).anyMatch(line -> line.endsWith("what to do about MODE_NOT_ALLOWED, DRAINING."));
        assertThat(advice).anyMatch(line -> line.endsWith("refused, too: 700."));
        assertThat(explained(1).summary()).endsWith("guards refused 2 calls with it.");
    }

    @Test
    void manyEqualRefusalsAreTwoEvents() {
        acquire("a", 0).refused("DRAINING", 1, 0);
        RefusalReport first = refusals.get(0);
        refusals.set(
                0,
                first.and(new RefusalReport(
                        "shop", "", LOCK, "orders-7", "DRAINING", 1, 0, OptionalLong.empty(), now + 5, now + 9, 40)));
        after(10);
        GrantExplanation explained = explained(1);
        assertThat(whats(explained)).containsExactly("GRANTED", "REFUSED", "REFUSED");
        assertThat(explained.events().get(2).text()).contains("the last of 41 such calls");
        assertThat(explained.events().get(2).atMillis()).isEqualTo(now - 1);
    }
}
