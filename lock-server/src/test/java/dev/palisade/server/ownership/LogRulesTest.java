package dev.palisade.server.ownership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.server.ownership.ClaimReply.Claimed;
import dev.palisade.server.ownership.ClaimReply.Held;
import dev.palisade.server.ownership.ClaimReply.Settling;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What the search does not reach: the clock, tokens, addresses, {@code --init}, old primaries and generations. */
class LogRulesTest {
    private static final LogRules RULES = new LogRules(2_000, 1_000);
    private static final LogState EMPTY = new LogState(null, 0, "i", null, null);
    private static final WriterId A = new WriterId(1, 1);
    private static final WriterId B = new WriterId(2, 2);

    private LogState log = EMPTY;

    @Test
    void newLogIsOwnedAtOnceWithInit() {
        assertThat(claim(init(A), 100)).isEqualTo(new Claimed(A, false, true, Position.NONE, 0, 0, 1, 100));
    }

    @Test
    void emptiedLogIsNotNewForTheProcessThatSawAnOwner() {
        claim(init(A), 0);
        log = new LogState(null, 0, "i", log.seen(), null);
        assertThat(claim(init(B), 0)).isEqualTo(new Settling(1_000));
    }

    @Test
    void emptyLogIsNotNewWhileAServerThatKnowsItWaits() {
        Past past = new Past(3, false, new Position(A, 7), Position.NONE, List.of());
        assertThat(claim(request(A, past), 0)).isEqualTo(new Settling(1_000));
        assertThat(claim(init(B), 800)).isEqualTo(new Settling(200));
    }

    /** Also for a server whose own window is shorter: holders count on the one that was announced. */
    @Test
    void recoveryWindowOfAnEarlierClaimIsKept() {
        claim(request(A, Past.NONE), 0);
        claim(request(A, Past.NONE), 2_000);
        append(A, 1, 2_000);
        ClaimRequest shorter = new ClaimRequest(B, Past.NONE, "s", "b:1", false, false, false, 1_000);
        assertThat(((Claimed) claim(shorter, 4_000)).recoveringUntilMillis()).isEqualTo(12_000);
    }

    @Test
    void emptyLogWithoutInitSettlesAndRecovers() {
        assertThat(claim(request(A, Past.NONE), 0)).isEqualTo(new Settling(1_000));
        assertThat(claim(request(A, Past.NONE), 1_500)).isEqualTo(new Settling(500));
        assertThat(claim(request(A, Past.NONE), 2_000))
                .isEqualTo(new Claimed(A, false, false, Position.NONE, 0, 12_000, 1, 2_000));
    }

    @Test
    void settlingStartsAgainIfTheClockGoesBack() {
        claim(request(A, Past.NONE), 9_000);
        assertThat(claim(request(A, Past.NONE), 0)).isEqualTo(new Settling(1_000));
        assertThat(claim(request(A, Past.NONE), 2_000)).isInstanceOf(Claimed.class);
    }

    @Test
    void claimLastsFromEachAppend() {
        claim(init(A), 0);
        append(A, 1, 1_000);
        assertThat(claim(request(B, Past.NONE), 2_999)).isEqualTo(new Held("s", "a:1", 1));
        assertThat(claim(request(B, Past.NONE), 3_000)).isInstanceOf(Claimed.class);
    }

    @Test
    void claimThatEndsTooLateIsCutWhenItIsRead() {
        claim(init(A), 3_600_000);
        append(A, 1, 3_600_000);
        assertThat(claim(request(B, Past.NONE), 0)).isEqualTo(new Held("s", "a:1", 2_000));
        assertThat(claim(request(B, Past.NONE), 1_999)).isEqualTo(new Held("s", "a:1", 1));
        assertThat(claim(request(B, Past.NONE), 2_000)).isInstanceOf(Claimed.class);
    }

    @Test
    void clockThatGoesForwardEndsTheClaimAndTheOldWriter() {
        claim(init(A), 0);
        append(A, 1, 0);
        assertThat(claim(request(B, Past.NONE), 3_600_000)).isInstanceOf(Claimed.class);
        assertThat(append(A, 2, 3_600_000)).isFalse();
    }

    @Test
    void yieldEndsTheClaim() {
        claim(init(A), 0);
        assertThat(stored(new AppendRequest(A, 1, 0, 0, true, false), 500)).isTrue();
        assertThat(claim(request(B, Past.NONE), 500)).isInstanceOf(Claimed.class);
    }

    @Test
    void serverThatReturnsOnTheOwnersAddressDoesNotWait() {
        claim(init(A), 0);
        append(A, 1, 0);
        assertThat(claim(new ClaimRequest(B, Past.NONE, "t", "b:1", true, false, false, 10_000), 1))
                .isInstanceOf(Held.class);
        assertThat(claim(new ClaimRequest(B, Past.NONE, "t", "a:1", true, false, false, 10_000), 1))
                .isEqualTo(new Claimed(B, false, true, new Position(A, 1), 0, 0, 2, 1));
    }

    @Test
    void batchIsStoredOnce() {
        claim(init(A), 0);
        assertThat(append(A, 1, 0)).isTrue();
        assertThat(append(A, 1, 0)).isFalse();
        assertThat(append(A, 3, 0)).isFalse();
        assertThat(append(A, 2, 0)).isTrue();
    }

    @Test
    void otherCountOfTokensIsAForeignWriter() {
        claim(init(A), 0);
        assertThat(stored(new AppendRequest(A, 1, 0, 5, false, false), 0)).isTrue();
        assertThat(stored(new AppendRequest(A, 2, 4, 6, false, false), 0)).isFalse();
        assertThat(stored(new AppendRequest(A, 2, 5, 6, false, false), 0)).isTrue();
        assertThat(log.tokens()).isEqualTo(6);
    }

    @Test
    void reloadedLibraryLeavesTheLogWhole() {
        claim(init(A), 0);
        append(A, 1, 0);
        log = new LogState(log.head(), 0, "i", null, null);
        assertThat(append(A, 2, 0)).isFalse();
        Position found = new Position(A, 1);
        assertThat(claim(request(B, Past.loaded(1, false, found)), 0))
                .isEqualTo(new Claimed(B, true, true, found, 0, 0, 2, 0));
    }

    @Test
    void oldPrimaryThatLacksWhatWasConfirmedIsNotWhole() {
        claim(init(A), 0);
        append(A, 1, 0);
        Past ahead = Past.loaded(1, false, new Position(A, 2));
        assertThat(claim(request(B, ahead), 0)).isInstanceOf(Settling.class);
        Claimed claimed = (Claimed) claim(request(B, ahead), 1_000);
        assertThat(claimed.mine()).isFalse();
        assertThat(claimed.recoveringUntilMillis()).isEqualTo(11_000);
    }

    @Test
    void rewrittenGenerationCountsFromItsLastAppendOn() {
        claim(init(A), 0);
        append(A, 1, 0);
        Past ahead = Past.loaded(1, true, new Position(A, 2));
        claim(request(B, ahead), 0);
        assertThat(((Claimed) claim(request(B, ahead), 1_000)).mine()).isTrue();
        assertThat(head().rewriting()).isEqualTo(2);
        append(B, 1, 1_000);
        assertThat(head().generation()).isEqualTo(1);
        assertThat(stored(new AppendRequest(B, 2, 0, 0, false, true), 1_000)).isTrue();
        assertThat(head().generation()).isEqualTo(2);
        assertThat(head().rewriting()).isZero();
    }

    @Test
    void highestTermGetsALogThatSettles() {
        claim(init(A), 0);
        append(A, 1, 0);
        log = new LogState(log.head(), 0, "other", null, null);
        Past mine = Past.loaded(1, true, new Position(A, 1));
        Past newer = Past.loaded(2, true, new Position(B, 7));
        claim(request(new WriterId(3, 3), mine), 0);
        claim(request(new WriterId(4, 4), newer), 500);
        assertThat(claim(request(new WriterId(5, 5), mine), 1_000)).isEqualTo(new Settling(1_000));
        Claimed claimed = (Claimed) claim(request(new WriterId(6, 6), newer), 1_001);
        assertThat(claimed.mine()).isFalse();
        assertThat(claimed.recoveringUntilMillis()).isEqualTo(11_001);
        assertThat(claimed.term()).isEqualTo(3);
    }

    @Test
    void pastKeepsEightEarlierPositions() {
        Past past = Past.loaded(1, true, new Position(new WriterId(0, 1), 1));
        for (int writer = 2; writer <= 12; writer++) {
            past = past.confirmedAt(new Position(new WriterId(0, writer), 1), writer);
        }
        assertThat(past.earlier()).hasSize(Past.EARLIER_MAX);
        assertThat(past.covers(new Position(new WriterId(0, 4), 1))).isTrue();
        assertThat(past.covers(new Position(new WriterId(0, 3), 1))).isFalse();
        assertThat(past.covers(new Position(new WriterId(0, 12), 2))).isFalse();
    }

    @Test
    void writerIdIsThirtyTwoHexDigits() {
        WriterId writer = new WriterId(-1, 10);
        assertThat(writer).hasToString("ffffffffffffffff000000000000000a");
        assertThat(WriterId.parse(writer.toString())).isEqualTo(writer);
        for (String wrong : List.of("", "f", "+".repeat(32), "F".repeat(32), "0".repeat(33))) {
            assertThatThrownBy(() -> WriterId.parse(wrong))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("32 lower-case hex digits, not '" + wrong + "'");
        }
    }

    private ClaimReply claim(ClaimRequest request, long now) {
        ClaimDecision decision = RULES.claim(log, request, now);
        log = decision.next();
        return decision.reply();
    }

    private boolean append(WriterId writer, long seq, long now) {
        return stored(new AppendRequest(writer, seq, 0, 0, false, false), now);
    }

    private boolean stored(AppendRequest request, long now) {
        AppendDecision decision = RULES.append(log, request, now);
        log = decision.next();
        return decision.stored();
    }

    private LogState.Head head() {
        return Objects.requireNonNull(log.head());
    }

    private static ClaimRequest init(WriterId writer) {
        return new ClaimRequest(writer, Past.NONE, "s", "a:1", true, true, false, 10_000);
    }

    private static ClaimRequest request(WriterId writer, Past past) {
        return new ClaimRequest(writer, past, "t", "b:1", false, false, false, 10_000);
    }
}
