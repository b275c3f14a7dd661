package dev.palisade.check;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.NothingLeft.Listed;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class QueueCheckersTest {
    private static final long SECOND = 1_000_000_000;

    private static LockEntry entry(String what, String grant) {
        return entry(0, what, grant);
    }

    private static LockEntry entry(int stretch, String what, String grant) {
        return new LockEntry("l", stretch, what, 0, grant, "c", "", 0);
    }

    private static Wait waiting(long asked, long until) {
        return new Wait("c", "l", "op", asked * SECOND, until * SECOND);
    }

    private static Held held(long from, long until) {
        return new Held("d", "l", false, 1, "g", from * SECOND, until * SECOND, false);
    }

    private static GrantReply answered(String request, long token, String grant) {
        return answered(request, token, grant, 0, 0);
    }

    private static GrantReply answered(String request, long token, String grant, long asked, long at) {
        return new GrantReply("c", "l", request, token, grant, asked * SECOND, at * SECOND);
    }

    private static List<DataLost> lost(long from, long until) {
        return List.of(new DataLost(from * SECOND, until * SECOND));
    }

    // ---- P9

    @Test
    void oneRequestAskedAgainWithTheSameAnswerPasses() {
        assertThat(OneGrantPerRequest.violations(
                        List.of(answered("s 1", 5, "a"), answered("s 1", 5, "a"), answered("s 2", 6, "b")),
                        List.of(entry("GRANTED", "a"), entry("OFFERED", "b"), entry("ACCEPTED", "b")),
                        List.of()))
                .isEmpty();
    }

    @Test
    void oneRequestWithTwoGrantsOrTwoTokensIsFound() {
        assertThat(OneGrantPerRequest.violations(
                        List.of(answered("s 1", 5, "a"), answered("s 1", 5, "b")), List.of(), List.of()))
                .singleElement()
                .asString()
                .startsWith("P9: c's request s 1 of l");
        assertThat(OneGrantPerRequest.violations(
                        List.of(answered("s 1", 5, "a"), answered("s 1", 6, "a")), List.of(), List.of()))
                .hasSize(1);
    }

    @Test
    void aGrantWhoseLeaseBeginsTwiceIsFoundInTheServersHistory() {
        assertThat(OneGrantPerRequest.violations(
                        List.of(),
                        List.of(entry("GRANTED", "a"), entry("RELEASED", "a"), entry("ACCEPTED", "a")),
                        List.of()))
                .singleElement()
                .asString()
                .startsWith("P9: a lease of grant a began twice");
    }

    @Test
    void aSecondGrantOfARequestIsExcusedByALossBetweenTheTwoOnly() {
        List<GrantReply> twice = List.of(answered("s 1", 5, "a", 1, 2), answered("s 1", 6, "b", 6, 7));
        assertThat(OneGrantPerRequest.violations(twice, List.of(), lost(3, 4))).isEmpty();
        assertThat(OneGrantPerRequest.violations(twice, List.of(), lost(8, 9))).hasSize(1);
        assertThat(OneGrantPerRequest.violations(twice, List.of(), lost(0, 0))).hasSize(1);
    }

    @Test
    void afterALossARequestIsHeldToItsNewGrant() {
        assertThat(OneGrantPerRequest.violations(
                        List.of(
                                answered("s 1", 5, "a", 1, 2),
                                answered("s 1", 6, "b", 6, 7),
                                answered("s 1", 7, "c", 8, 9)),
                        List.of(),
                        lost(3, 4)))
                .hasSize(1);
    }

    @Test
    void aLeaseThatBeginsTwiceInTheServersHistoryIsExcusedByALossBetweenTheTwoOnly() {
        List<LockEntry> entries = List.of(seen("GRANTED", 2), seen("ACCEPTED", 6));
        assertThat(OneGrantPerRequest.violations(List.of(), entries, lost(3, 4)))
                .isEmpty();
        assertThat(OneGrantPerRequest.violations(List.of(), entries, lost(7, 8)))
                .hasSize(1);
        assertThat(OneGrantPerRequest.violations(List.of(), entries, lost(0, 1)))
                .hasSize(1);
    }

    private static LockEntry seen(String what, long at) {
        return new LockEntry("l", 0, what, 0, "a", "c", "", at * SECOND);
    }

    // ---- P10

    @Test
    void whoIsOfferedTheLockInOrderPassesAndSoDoesWhoLeft() {
        assertThat(FirstComeFirst.violations(List.of(
                        entry("GRANTED", "x"),
                        entry("QUEUED", "a"),
                        entry("QUEUED", "b"),
                        entry("QUEUED", "c"),
                        entry("LEFT", "a"),
                        entry("OFFERED", "b"),
                        entry("OFFERED", "c"),
                        entry("GRANTED", "y"))))
                .isEmpty();
    }

    @Test
    void anOfferPastSomebodyWhoCameEarlierIsFound() {
        assertThat(FirstComeFirst.violations(
                        List.of(entry("QUEUED", "a"), entry("QUEUED", "b"), entry("OFFERED", "b"))))
                .singleElement()
                .asString()
                .startsWith("P10: OFFERED of l")
                .contains("grant b", "past", "grant a");
    }

    @Test
    void aGrantPastTheQueueIsFound() {
        assertThat(FirstComeFirst.violations(List.of(entry("QUEUED", "a"), entry("GRANTED", "b"))))
                .hasSize(1);
    }

    @Test
    void whoLetAnOfferLapseIsPassedAndWhoCameBeforeAGapIsNotJudged() {
        assertThat(FirstComeFirst.violations(List.of(
                        entry("QUEUED", "a"),
                        entry("QUEUED", "b"),
                        entry("OFFERED", "a"),
                        entry("LAPSED", "a"),
                        entry("OFFERED", "b"),
                        entry("OFFERED", "a"))))
                .isEmpty();
        assertThat(FirstComeFirst.violations(List.of(
                        entry(0, "QUEUED", "a"),
                        entry(1, "QUEUED", "b"),
                        entry(1, "OFFERED", "unseen"),
                        entry(1, "OFFERED", "b"))))
                .isEmpty();
    }

    @Test
    void whoseOfferWasWithdrawnIsTheFirstAgain() {
        List<LockEntry> withdrawn =
                List.of(entry("QUEUED", "a"), entry("QUEUED", "b"), entry("OFFERED", "a"), entry("WITHDRAWN", "a"));
        assertThat(FirstComeFirst.violations(with(withdrawn, entry("OFFERED", "a"), entry("OFFERED", "b"))))
                .isEmpty();
        assertThat(FirstComeFirst.violations(with(withdrawn, entry("OFFERED", "b"))))
                .singleElement()
                .asString()
                .contains("grant b", "past", "grant a");
    }

    @Test
    void whoLetAnOfferLapseIsExceptedThoughALaterOneIsWithdrawn() {
        assertThat(FirstComeFirst.violations(List.of(
                        entry("QUEUED", "a"),
                        entry("OFFERED", "a"),
                        entry("LAPSED", "a"),
                        entry("OFFERED", "a"),
                        entry("WITHDRAWN", "a"),
                        entry("QUEUED", "b"),
                        entry("OFFERED", "b"))))
                .isEmpty();
    }

    @Test
    void whoReclaimedWhatItHadWaitsNoMore() {
        assertThat(FirstComeFirst.violations(List.of(
                        entry("QUEUED", "a"), entry("QUEUED", "b"), entry("RECLAIMED", "a"), entry("OFFERED", "b"))))
                .isEmpty();
    }

    private static List<LockEntry> with(List<LockEntry> entries, LockEntry... more) {
        List<LockEntry> all = new ArrayList<>(entries);
        all.addAll(List.of(more));
        return all;
    }

    // ---- P11

    @Test
    void aWaitWhileOthersHoldTheLockMayBeLong() {
        assertThat(FreeLocksGranted.violations(
                        List.of(waiting(0, 20)), List.of(held(0, 9), held(10, 18)), 0, 3 * SECOND))
                .isEmpty();
    }

    @Test
    void aWaitForALockThatNobodyHoldsIsFoundBeforeBetweenAndAfterTheHolders() {
        List<Wait> waits = List.of(waiting(0, 20));
        assertThat(FreeLocksGranted.violations(waits, List.of(held(4, 20)), 0, 3 * SECOND))
                .singleElement()
                .asString()
                .startsWith("P11: c waited for l as op while for 4000 ms nobody held it");
        assertThat(FreeLocksGranted.violations(waits, List.of(held(0, 5), held(9, 20)), 0, 3 * SECOND))
                .hasSize(1);
        assertThat(FreeLocksGranted.violations(waits, List.of(held(0, 16)), 0, 3 * SECOND))
                .hasSize(1);
        assertThat(FreeLocksGranted.violations(waits, List.of(), 0, 3 * SECOND)).hasSize(1);
    }

    @Test
    void whatWasFreeBeforeTheLastFaultEndedDoesNotCount() {
        assertThat(FreeLocksGranted.violations(List.of(waiting(0, 20)), List.of(held(19, 20)), 17 * SECOND, 3 * SECOND))
                .isEmpty();
        assertThat(FreeLocksGranted.violations(List.of(waiting(0, 20)), List.of(held(19, 20)), 15 * SECOND, 3 * SECOND))
                .hasSize(1);
    }

    // ---- P14

    @Test
    void locksThatComeFreeWithinTheBoundPass() {
        assertThat(NothingLeft.violations(
                        List.of(new Listed(1 * SECOND, List.of("l: held")), new Listed(2 * SECOND, List.of())),
                        3 * SECOND))
                .isEmpty();
    }

    @Test
    void aLockThatStaysInUseOrComesFreeTooLateOrWasNeverLookedAtIsFound() {
        assertThat(NothingLeft.violations(List.of(new Listed(4 * SECOND, List.of("l: held"))), 3 * SECOND))
                .containsExactly("P14: 4000 ms after the last client ended there is still l: held");
        assertThat(NothingLeft.violations(List.of(new Listed(4 * SECOND, List.of())), 3 * SECOND))
                .hasSize(1);
        assertThat(NothingLeft.violations(List.of(), 3 * SECOND)).hasSize(1);
    }
}
