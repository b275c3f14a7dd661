package dev.palisade.faults;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.Held;
import dev.palisade.check.LeasesDisjoint;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is believed when, and which early ends excuse an overlap. */
class LeasesTest {
    private static final String OF_1 = "'lock':'l','token':1,'grant':'00000000000000000000000000000100'";

    private static final String ANEW =
            "'lock':'l','token':3,'grant':'00000000000000000000000000000100','mode':'EXCLUSIVE','asked':95,'until':140";

    /** c1 believes in its lease from 0 to 100, c2 has the lock from 50 on. */
    private static HistoryBuilder overlap() {
        return new HistoryBuilder().granted(0, "c1", 1, 100).granted(50, "c2", 2, 150);
    }

    private static List<String> violations(HistoryBuilder history) {
        return LeasesDisjoint.violations(Leases.of(history.events()));
    }

    @Test
    void anOverlapThatNothingExcusesIsFound() {
        assertThat(violations(overlap())).hasSize(1);
        assertThat(violations(overlap().at(60, "c1", "releasing", OF_1))).hasSize(1);
        assertThat(violations(overlap().at(20, "run", "lock-history", "'stretch':0,'what':'RELEASED'," + OF_1)))
                .hasSize(1);
        assertThat(violations(overlap().at(60, "c1", "lost", "'reason':'EXPIRED'," + OF_1)))
                .hasSize(1);
    }

    @Test
    void aStoppedClientIsNoExcuse() {
        assertThat(violations(overlap()
                        .at(10, "run", "fault-began", "'fault':'PAUSE_CLIENTS','number':1,'who':'c1'")
                        .at(120, "run", "fault-ended", "'fault':'PAUSE_CLIENTS','number':1,'who':'c1'")))
                .hasSize(1);
    }

    @Test
    void whoReleasedOrHeardOfTheLossOrDiedBeforeBelievesNothing() {
        assertThat(violations(overlap().at(40, "c1", "releasing", OF_1))).isEmpty();
        assertThat(violations(overlap().at(40, "c1", "lost", "'reason':'EXPIRED'," + OF_1)))
                .isEmpty();
        assertThat(violations(overlap().at(40, "run", "fault-began", "'fault':'KILL_CLIENT','number':1,'who':'c1'")))
                .isEmpty();
    }

    @Test
    void theDeathOfAnotherClientIsNoExcuse() {
        assertThat(violations(overlap().at(40, "run", "fault-began", "'fault':'KILL_CLIENT','number':1,'who':'c3'")))
                .hasSize(1);
    }

    @Test
    void aRenewalMovesTheEndAndOnlyForward() {
        HistoryBuilder renewed = new HistoryBuilder()
                .granted(0, "c1", 1, 40)
                .at(30, "c1", "valid", "'until':90," + OF_1)
                .at(35, "c1", "valid", "'until':60," + OF_1);
        assertThat(Leases.of(renewed.events())).extracting(Held::untilNanos).containsExactly(HistoryBuilder.nanos(90));
    }

    /** A store that has forgotten a request grants it anew, under the same grant, with another token. */
    @Test
    void whatIsGrantedAnewIsALeaseOfItsOwn() {
        HistoryBuilder anew = new HistoryBuilder().granted(0, "c1", 1, 40).granted(50, "c2", 2, 90);
        assertThat(violations(anew.at(100, "c1", "granted-again", ANEW))).isEmpty();
        HistoryBuilder overlapping =
                new HistoryBuilder().granted(0, "c1", 1, 40).granted(50, "c2", 2, 90);
        assertThat(violations(overlapping.at(60, "c1", "granted-again", ANEW))).hasSize(1);
    }

    @Test
    void anEarlyEndThatTheServerOrTheClientTellsExcuses() {
        assertThat(violations(overlap().at(45, "run", "lock-history", "'stretch':0,'what':'ABANDONED'," + OF_1)))
                .isEmpty();
        assertThat(violations(overlap().at(60, "c1", "lost", "'reason':'ABANDONED'," + OF_1)))
                .isEmpty();
        assertThat(violations(overlap().at(60, "c1", "lost", "'reason':'FORCE_RELEASED'," + OF_1)))
                .isEmpty();
    }

    @Test
    void anOperatorExcusesTheLeasesOfThatLockAtThatTimeOnly() {
        String forced = "'fault':'FORCE_RELEASE','number':1,'who':'l','answered':46,";
        assertThat(violations(overlap().at(45, "run", "operated", forced + "'lock':'l'")))
                .isEmpty();
        assertThat(violations(overlap().at(45, "run", "operated", forced + "'lock':'m'")))
                .hasSize(1);
        assertThat(violations(overlap()
                        .at(45, "run", "operated", forced.replace("FORCE_RELEASE", "REQUEST_RELEASE") + "'lock':'l'")))
                .hasSize(1);
        assertThat(violations(overlap().at(200, "run", "operated", forced.replace("46", "201") + "'lock':'l'")))
                .hasSize(1);
    }

    @Test
    void aLossOfDataIsNoExcuse() {
        String lost = "'fault':'EMPTY_REDIS','number':1,'who':'redis','how':'','from':40";
        HistoryBuilder gap = overlap()
                .at(10, "run", "fault-began", "'fault':'CUT_SERVER_LINK','number':1,'who':'c1'")
                .at(11, "run", "fault-ended", "'fault':'CUT_SERVER_LINK','number':1,'who':'c1'")
                .at(20, "run", "lock-history", "'stretch':0,'what':'GRANTED','lock':'l','grant':'x'")
                .at(45, "run", "data-lost", lost)
                .at(70, "run", "lock-history", "'stretch':1,'after_loss':true,'what':'GRANTED','lock':'l','grant':'y'");
        assertThat(violations(gap)).hasSize(1);
    }

    @Test
    void aGapInTheServersHistoryExcusesOnlyWhoWasCutOffMeanwhile() {
        HistoryBuilder gap = overlap()
                .at(20, "run", "lock-history", "'stretch':0,'what':'GRANTED','lock':'l','grant':'x'")
                .at(70, "run", "lock-history", "'stretch':1,'what':'GRANTED','lock':'l','grant':'y'");
        assertThat(violations(gap)).hasSize(1);
        assertThat(violations(gap.at(10, "run", "fault-began", "'fault':'CUT_SERVER_LINK','number':1,'who':'c1'")
                        .at(11, "run", "fault-ended", "'fault':'CUT_SERVER_LINK','number':1,'who':'c1'")))
                .isEmpty();
    }
}
