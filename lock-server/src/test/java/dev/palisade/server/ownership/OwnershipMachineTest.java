package dev.palisade.server.ownership;

import static dev.palisade.server.ownership.OwnershipAction.ACKNOWLEDGE;
import static dev.palisade.server.ownership.OwnershipAction.CLAIM;
import static dev.palisade.server.ownership.OwnershipAction.DROP;
import static dev.palisade.server.ownership.OwnershipAction.LOAD;
import static dev.palisade.server.ownership.OwnershipAction.RESEND;
import static dev.palisade.server.ownership.OwnershipAction.REWRITE;
import static dev.palisade.server.ownership.OwnershipAction.SERVE;
import static dev.palisade.server.ownership.OwnershipAction.SERVE_FREEING;
import static dev.palisade.server.ownership.OwnershipAction.STOP;
import static dev.palisade.server.ownership.OwnershipAction.SUSPEND;
import static dev.palisade.server.ownership.OwnershipAction.YIELD;
import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.server.ownership.ClaimReply.Claimed;
import dev.palisade.server.ownership.Ownership.Phase;
import dev.palisade.server.ownership.OwnershipMachine.Settings;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When a server claims, what it does after each reply, and that what comes late changes nothing. */
class OwnershipMachineTest {
    private static final OwnershipMachine MACHINE = new OwnershipMachine(new Settings(2_000, 5_000, true));
    private static final WriterId FIRST = new WriterId(1, 1);
    private static final WriterId SECOND = new WriterId(2, 2);

    private Ownership server = MACHINE.started(0);

    @Test
    void standbyClaimsTenTimesASecond() {
        assertThat(tick(0)).containsExactly(CLAIM);
        claimReplied(new ClaimReply.Held("s", "a:1", 1_900), 10);
        assertThat(tick(109)).isEmpty();
        assertThat(tick(110)).containsExactly(CLAIM);
        claimReplied(new ClaimReply.Held("s", "a:1", 20), 120);
        assertThat(server.wakeMillis()).isEqualTo(140);
    }

    @Test
    void standbyWithoutContactWaitsASecond() {
        tick(0);
        server = MACHINE.claimFailed(server, 100).next();
        assertThat(server.wakeMillis()).isEqualTo(1_100);
    }

    @Test
    void supersededServerDropsItsMemoryAndWaitsTwoSecondsLonger() {
        active();
        assertThat(failed(AppendFailure.UNKNOWN, 100)).containsExactly(SUSPEND);
        assertThat(tick(100)).containsExactly(CLAIM);
        assertThat(claimReplied(new ClaimReply.Held("s", "a:1", 1_500), 110)).containsExactly(DROP);
        assertThat(server.phase()).isEqualTo(Phase.STANDBY);
        assertThat(server.past().isNone()).isTrue();
        assertThat(server.wakeMillis()).isEqualTo(3_610);
    }

    @Test
    void settlingLogLeavesMemory() {
        active();
        failed(AppendFailure.UNKNOWN, 100);
        tick(100);
        assertThat(claimReplied(new ClaimReply.Settling(1_000), 110)).isEmpty();
        assertThat(server.phase()).isEqualTo(Phase.SUSPENDED);
        assertThat(server.wakeMillis()).isEqualTo(210);
    }

    @Test
    void storedBatchIsAcknowledgedByTheClaim() {
        active();
        server = MACHINE.sent(server);
        failed(AppendFailure.UNKNOWN, 0);
        tick(0);
        assertThat(claimReplied(claimed(true, true, new Position(FIRST, 2)), 0)).containsExactly(ACKNOWLEDGE, SERVE);
        assertThat(server.past().confirmed()).isEqualTo(new Position(FIRST, 2));
    }

    @Test
    void missingBatchIsResentUnderTheNewWriter() {
        active();
        server = MACHINE.sent(server);
        failed(AppendFailure.UNKNOWN, 0);
        tick(0);
        assertThat(claimReplied(claimed(true, true, new Position(FIRST, 1)), 0)).containsExactly(RESEND);
        assertThat(server.past().unconfirmed()).isEqualTo(new Position(SECOND, 1));
        assertThat(appended()).containsExactly(ACKNOWLEDGE, SERVE);
        assertThat(server.past().confirmed()).isEqualTo(new Position(SECOND, 1));
    }

    @Test
    void twoBatchesInFlightAreAcknowledgedInTheirOrder() {
        active();
        server = MACHINE.sent(MACHINE.sent(server));
        assertThat(server.past().unconfirmed()).isEqualTo(new Position(FIRST, 3));
        assertThat(appended()).containsExactly(ACKNOWLEDGE);
        assertThat(server.past().confirmed()).isEqualTo(new Position(FIRST, 2));
        assertThat(server.past().unconfirmed()).isEqualTo(new Position(FIRST, 3));
        assertThat(appended()).containsExactly(ACKNOWLEDGE);
        assertThat(server.past().unconfirmed()).isEqualTo(Position.NONE);
        assertThat(server.pending()).isZero();
    }

    @ParameterizedTest
    @CsvSource({"1, 0", "2, 1", "3, 2"})
    void ofTwoBatchesInFlightThoseThatTheLogLacksAreSentAgain(long found, int stored) {
        active();
        server = MACHINE.sent(MACHINE.sent(server));
        failed(AppendFailure.UNKNOWN, 0);
        tick(0);
        List<OwnershipAction> expected = new ArrayList<>(Collections.nCopies(stored, ACKNOWLEDGE));
        expected.add(stored == 2 ? SERVE : RESEND);
        assertThat(claimReplied(claimed(true, true, new Position(FIRST, found)), 0))
                .isEqualTo(expected);
        assertThat(server.pending()).isEqualTo(2 - stored);
        if (stored < 2) {
            assertThat(server.past().unconfirmed()).isEqualTo(new Position(SECOND, 1));
            failed(AppendFailure.UNKNOWN, 0);
            assertThat(tick(99)).as("it may fail for long").isEmpty();
            tick(100);
            List<OwnershipAction> rest = new ArrayList<>(Collections.nCopies(2 - stored, ACKNOWLEDGE));
            rest.add(SERVE);
            assertThat(claimReplied(claimed(true, true, new Position(SECOND, 1)), 0))
                    .isEqualTo(rest);
        }
    }

    @Test
    void twoRefusedBatchesAreSentAgainAsOne() {
        active();
        server = MACHINE.sent(MACHINE.sent(server));
        assertThat(failed(AppendFailure.REFUSED, 0)).containsExactly(SUSPEND);
        assertThat(server.past().unconfirmed()).isEqualTo(new Position(FIRST, 2));
        tick(100);
        assertThat(appended()).containsExactly(ACKNOWLEDGE, ACKNOWLEDGE, SERVE);
    }

    @Test
    void stopAnswersBothBatchesThenYields() {
        active();
        server = MACHINE.sent(MACHINE.sent(server));
        assertThat(act(MACHINE.stopping(server))).isEmpty();
        assertThat(appended()).containsExactly(ACKNOWLEDGE);
        assertThat(appended()).containsExactly(ACKNOWLEDGE, YIELD);
    }

    @Test
    void logThatLostBatchesIsRewrittenBeforeItServes() {
        active();
        server = MACHINE.sent(server);
        failed(AppendFailure.UNKNOWN, 0);
        tick(0);
        assertThat(claimReplied(claimed(true, false, Position.NONE), 0)).containsExactly(REWRITE);
        server = MACHINE.sent(server);
        assertThat(appended()).isEmpty();
        server = MACHINE.sentLast(server);
        assertThat(appended()).containsExactly(ACKNOWLEDGE, SERVE);
        assertThat(server.past().confirmed()).isEqualTo(new Position(SECOND, 2));
    }

    @Test
    void rewriteThatIsCutOffBeginsAgain() {
        active();
        failed(AppendFailure.UNKNOWN, 0);
        tick(0);
        claimReplied(claimed(true, false, Position.NONE), 0);
        server = MACHINE.sent(server);
        assertThat(failed(AppendFailure.UNKNOWN, 0)).containsExactly(SUSPEND);
        tick(100);
        assertThat(server.past().covers(new Position(SECOND, 1))).isTrue();
        assertThat(claimReplied(claimed(true, false, new Position(SECOND, 1)), 0))
                .containsExactly(REWRITE);
    }

    @Test
    void rewriteThatIsRefusedBeginsAgainUnderTheNextClaim() {
        active();
        failed(AppendFailure.UNKNOWN, 0);
        tick(0);
        claimReplied(claimed(true, false, Position.NONE), 0);
        server = MACHINE.sentLast(server);
        assertThat(failed(AppendFailure.REFUSED, 0)).containsExactly(SUSPEND);
        assertThat(tick(99)).isEmpty();
        assertThat(tick(100)).containsExactly(CLAIM);
        assertThat(claimReplied(claimed(true, false, Position.NONE), 100)).containsExactly(REWRITE);
    }

    /** Loaded instead, the log would stay one that is being written anew. */
    @Test
    void memoryIsWrittenBackAlsoAfterABatchWasRefusedForTooLong() {
        active();
        server = MACHINE.sent(server);
        assertThat(failed(AppendFailure.REFUSED, 0)).containsExactly(SUSPEND);
        assertThat(tick(100)).containsExactly(RESEND);
        assertThat(failed(AppendFailure.REFUSED, 6_000)).containsExactly(SUSPEND);
        assertThat(tick(6_000)).containsExactly(CLAIM);
        assertThat(claimReplied(claimed(true, false, Position.NONE), 6_000)).containsExactly(REWRITE);
        server = MACHINE.sentLast(server);
        assertThat(appended()).containsExactly(ACKNOWLEDGE, SERVE_FREEING);
    }

    @Test
    void refusedBatchIsRetriedThenMemoryIsReloaded() {
        active();
        server = MACHINE.sent(server);
        assertThat(failed(AppendFailure.REFUSED, 0)).containsExactly(SUSPEND);
        assertThat(tick(99)).isEmpty();
        assertThat(tick(100)).containsExactly(RESEND);
        assertThat(failed(AppendFailure.REFUSED, 4_999)).isEmpty();
        assertThat(tick(5_099)).containsExactly(RESEND);
        assertThat(failed(AppendFailure.REFUSED, 5_100)).containsExactly(SUSPEND);
        assertThat(tick(5_100)).containsExactly(CLAIM);
        assertThat(claimReplied(claimed(true, true, new Position(FIRST, 1)), 5_100))
                .containsExactly(LOAD);
        appended();
        assertThat(act(MACHINE.loaded(server))).containsExactly(SERVE_FREEING);
        server = MACHINE.sent(server);
        assertThat(appended()).containsExactly(ACKNOWLEDGE);
        assertThat(server.phase()).isEqualTo(Phase.FREEING);
        server = MACHINE.probing(server);
        assertThat(failed(AppendFailure.REFUSED, 6_000)).isEmpty();
        assertThat(server.phase()).isEqualTo(Phase.FREEING);
        server = MACHINE.probing(server);
        assertThat(act(MACHINE.probed(server))).containsExactly(SERVE);
        assertThat(server.phase()).isEqualTo(Phase.ACTIVE);
    }

    @Test
    void serverThatLoadsARefusingLogFreesLocks() {
        tick(0);
        claimReplied(claimed(false, true, Position.NONE), 0);
        assertThat(failed(AppendFailure.REFUSED, 0)).isEmpty();
        appended();
        assertThat(act(MACHINE.loaded(server))).containsExactly(SERVE_FREEING);
        server = MACHINE.sent(server);
        assertThat(failed(AppendFailure.REFUSED, 0)).containsExactly(SUSPEND);
        tick(100);
        assertThat(appended()).containsExactly(ACKNOWLEDGE, SERVE_FREEING);
    }

    @Test
    void refusedBatchThatPassesIsAcknowledged() {
        active();
        server = MACHINE.sent(server);
        failed(AppendFailure.REFUSED, 0);
        tick(100);
        assertThat(appended()).containsExactly(ACKNOWLEDGE, SERVE);
    }

    @Test
    void stopAnswersTheBatchThenYields() {
        active();
        server = MACHINE.sent(server);
        assertThat(act(MACHINE.stopping(server))).isEmpty();
        assertThat(appended()).containsExactly(ACKNOWLEDGE, YIELD);
        assertThat(appended()).containsExactly(STOP);
        assertThat(tick(Long.MAX_VALUE - 1)).isEmpty();
    }

    @Test
    void stopOfAStandbyIsImmediate() {
        assertThat(act(MACHINE.stopping(server))).containsExactly(STOP);
        assertThat(tick(1_000)).isEmpty();
    }

    @Test
    void stopWhileLoadingYieldsWhenLoaded() {
        tick(0);
        claimReplied(claimed(false, true, Position.NONE), 0);
        assertThat(act(MACHINE.stopping(server))).isEmpty();
        appended();
        assertThat(act(MACHINE.loaded(server))).containsExactly(YIELD);
    }

    @Test
    void yieldWithoutAReplyStopsAllTheSame() {
        active();
        assertThat(act(MACHINE.stopping(server))).containsExactly(YIELD);
        assertThat(failed(AppendFailure.UNKNOWN, 0)).containsExactly(STOP);
    }

    @Test
    void lateRepliesChangeNothing() {
        active();
        Ownership before = server;
        assertThat(claimReplied(claimed(false, false, Position.NONE), 0)).isEmpty();
        assertThat(act(MACHINE.claimFailed(server, 0))).isEmpty();
        assertThat(act(MACHINE.loaded(server))).isEmpty();
        assertThat(server).isEqualTo(before);
        act(MACHINE.stopping(server));
        appended();
        before = server;
        assertThat(appended()).isEmpty();
        assertThat(failed(AppendFailure.REFUSED, 0)).isEmpty();
        assertThat(server).isEqualTo(before);
    }

    /** Active, with memory loaded from an empty log and one batch. */
    private void active() {
        tick(0);
        Claimed first = new Claimed(FIRST, false, true, Position.NONE, 0, 0, 1, 0);
        assertThat(claimReplied(first, 0)).containsExactly(LOAD);
        assertThat(appended()).isEmpty();
        assertThat(act(MACHINE.loaded(server))).containsExactly(SERVE);
        assertThat(server.past().confirmed()).isEqualTo(new Position(FIRST, 1));
    }

    private static Claimed claimed(boolean mine, boolean whole, Position found) {
        return new Claimed(SECOND, mine, whole, found, 0, 0, 2, 0);
    }

    private List<OwnershipAction> act(OwnershipStep step) {
        server = step.next();
        return step.actions();
    }

    private List<OwnershipAction> tick(long now) {
        return act(MACHINE.tick(server, now));
    }

    private List<OwnershipAction> claimReplied(ClaimReply reply, long now) {
        return act(MACHINE.claimReplied(server, reply, now));
    }

    private List<OwnershipAction> failed(AppendFailure failure, long now) {
        return act(MACHINE.appendFailed(server, failure, now));
    }

    private List<OwnershipAction> appended() {
        return act(MACHINE.appended(server));
    }
}
