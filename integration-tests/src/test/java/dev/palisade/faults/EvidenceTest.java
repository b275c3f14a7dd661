package dev.palisade.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Each property's planted bug, as the processes would record it, is found in the events. */
class EvidenceTest {
    private static final String OF_1 = "'lock':'l','token':1,'grant':'00000000000000000000000000000100'";

    private static HistoryBuilder settled(HistoryBuilder history) {
        return history.at(5_000, "run", "quiet", "'bound_millis':100")
                .at(6_000, "run", "listed", "'after':1,'locks':[]")
                .at(6_001, "run", "mark", "'when':'end','shared_token':0,'lock':'unused','token':0,'grant':''");
    }

    private static List<String> broken(HistoryBuilder history) {
        return Evidence.of(settled(history).events()).violations().stream()
                .map(violation -> violation.substring(0, violation.indexOf(':')))
                .distinct()
                .toList();
    }

    @Test
    void aRunInWhichNothingIsWrongPasses() {
        assertThat(broken(new HistoryBuilder()
                        .granted(10, "c1", 1, 1_000)
                        .at(20, "c1", "read", "'sent':19,'content':''," + OF_1)
                        .at(30, "c1", "releasing", OF_1)
                        .granted(40, "c2", 2, 1_000)))
                .isEmpty();
    }

    @Test
    void twoWhoBelieveInTheirLeasesAtOnceAreFound() {
        assertThat(broken(new HistoryBuilder().granted(10, "c1", 1, 1_000).granted(40, "c2", 2, 1_000)))
                .containsExactly("P5");
    }

    @Test
    void aReadAfterTheGrantWasStaleIsFound() {
        assertThat(broken(new HistoryBuilder()
                        .granted(10, "c1", 1, 1_000)
                        .at(20, "c1", "read-failed", "'sent':19,'reason':'TOKEN_STALE'," + OF_1)
                        .at(25, "c1", "read", "'sent':21,'content':''," + OF_1)))
                .containsExactly("P8");
    }

    @Test
    void aReadThatWasSentBeforeTheGrantWasStaleIsNot() {
        assertThat(broken(new HistoryBuilder()
                        .granted(10, "c1", 1, 1_000)
                        .at(20, "c1", "read-failed", "'sent':11,'reason':'TOKEN_STALE'," + OF_1)
                        .at(25, "c1", "read", "'sent':19,'content':''," + OF_1)))
                .isEmpty();
    }

    @Test
    void aLeaseThatIsValidOnceMoreAfterItWasLostIsFound() {
        assertThat(broken(new HistoryBuilder()
                        .granted(10, "c1", 1, 1_000)
                        .at(20, "c1", "lost", "'reason':'SERVER_UNREACHABLE'," + OF_1)
                        .at(25, "c1", "valid", "'until':900," + OF_1)))
                .containsExactly("P8");
    }

    @Test
    void aRequestThatIsGrantedTwiceIsFound() {
        String asked = "'asked':9,'lock':'l','mode':'EXCLUSIVE','op':'x','until':11,'request':'s 1',";
        assertThat(broken(new HistoryBuilder()
                        .at(10, "c1", "granted", asked + "'token':1,'grant':'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa00'")
                        .at(12, "c1", "granted-again", asked + "'token':2,'grant':'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb00'")))
                .containsExactly("P9");
    }

    @Test
    void anOfferPastTheQueueIsFound() {
        String entry = "'lock':'l','stretch':0,'owner':'c','detail':'',";
        assertThat(broken(new HistoryBuilder()
                        .at(
                                1,
                                "run",
                                "lock-history",
                                entry + "'what':'QUEUED','grant':'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa00'")
                        .at(
                                2,
                                "run",
                                "lock-history",
                                entry + "'what':'QUEUED','grant':'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb00'")
                        .at(
                                3,
                                "run",
                                "lock-history",
                                entry + "'what':'OFFERED','grant':'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb00','token':3")))
                .containsExactly("P10");
    }

    @Test
    void aWaitForAFreeLockAfterTheLastFaultIsFoundAndOneBeforeItIsNot() {
        String asked = "'lock':'l','op':'x','reason':'TimedOut',";
        assertThat(broken(new HistoryBuilder().at(5_500, "c1", "not-granted", asked + "'asked':5100")))
                .containsExactly("P11");
        assertThat(broken(new HistoryBuilder().at(5_050, "c1", "not-granted", asked + "'asked':100")))
                .isEmpty();
    }

    @Test
    void aForgeryThatIsAdmittedIsFound() {
        assertThat(broken(new HistoryBuilder()
                        .at(10, "run", "forged", "'lock':'l','how':'random','token':9,'outcome':'admitted'")
                        .at(11, "run", "forged", "'lock':'l','how':'random','token':9,'outcome':'unknown'")))
                .containsExactly("P13");
    }

    @Test
    void overALossOfDataTheServerMayForgetAndWhatTheSdkOrAGuardSaidStands() {
        String lost = "'fault':'FLUSH_REDIS','number':1,'who':'redis','how':'','from':30";
        String unary = "'request':'s 1','op':'x',";
        HistoryBuilder forgotten = new HistoryBuilder()
                .granted(10, "c1", 1, 1_000)
                .at(20, "c1", "lost", unary + "'sent':19,'reason':'EXPIRED'," + OF_1)
                .at(31, "run", "data-lost", lost)
                .at(40, "c1", "valid", unary + "'until':900," + OF_1);
        assertThat(broken(forgotten)).isEmpty();
        assertThat(broken(new HistoryBuilder()
                        .granted(10, "c1", 1, 1_000)
                        .at(20, "c1", "lost", "'reason':'EXPIRED'," + OF_1)
                        .at(31, "run", "data-lost", lost)
                        .at(40, "c1", "valid", "'until':900," + OF_1)))
                .containsExactly("P8");
    }

    @Test
    void tokensThatFallWithoutALossBetweenThemAreFoundAndWithOneTheyAreCounted() {
        String lost = "'fault':'EMPTY_REDIS','number':1,'who':'redis','how':'','from':";
        HistoryBuilder fall = new HistoryBuilder()
                .at(1, "run", "run", "'locks_in':'OWN_REDIS'")
                .granted(10, "c1", 2, 20)
                .granted(40, "c2", 1, 50);
        assertThat(broken(fall)).containsExactly("P2");
        assertThat(broken(fall.at(31, "run", "data-lost", lost + 30))).isEmpty();
        assertThat(RunStatistics.of(Evidence.of(settled(fall).events())).counts())
                .containsEntry("tokens that fell over a loss", 1L)
                .containsEntry("EMPTY_REDIS", 0L);
    }

    @Test
    void ofARunThatBrokeOffOnlyTheEndIsNotJudged() {
        HistoryBuilder brokenOff = new HistoryBuilder()
                .granted(10, "c1", 1, 1_000)
                .granted(40, "c2", 2, 1_000)
                .at(
                        50,
                        "c2",
                        "sending",
                        "'op':'x','content':'1 x','lock':'l','token':2,'grant':'00000000000000000000000000000200'")
                .at(
                        51,
                        "c2",
                        "acknowledged",
                        "'op':'x','lock':'l','token':2,'grant':'00000000000000000000000000000200'");
        assertThat(Evidence.of(brokenOff.events()).violations())
                .singleElement()
                .asString()
                .startsWith("P5: ");
        assertThat(broken(brokenOff)).containsExactlyInAnyOrder("P5", "P15");
    }

    @Test
    void aLockThatStaysInUseIsFound() {
        assertThat(broken(new HistoryBuilder().at(7_000, "run", "listed", "'after':9,'locks':['l: held']")))
                .containsExactly("P14");
    }

    @Test
    void aRunThatSawNothingProvesNothing() {
        List<String> missing = RunStatistics.of(
                        Evidence.of(settled(new HistoryBuilder()).events()))
                .missing();

        assertThat(missing)
                .allMatch(line -> line.startsWith("VACUOUS: "))
                .hasSizeGreaterThanOrEqualTo(
                        Schedule.Kind.of(LockBackend.DATA_DIR).size() + 10)
                .anyMatch(line -> line.contains("KILL_SERVER: 0"))
                .anyMatch(line -> line.contains("refusals as stale: 0"));
    }
}
