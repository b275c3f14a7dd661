package dev.palisade.check;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.GrantReport.Source;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class LeaseCheckersTest {
    private static final long SECOND = 1_000_000_000;

    private static Held held(String lock, boolean shared, long token, long from, long until) {
        return new Held("c" + token, lock, shared, token, "g" + token, from * SECOND, until * SECOND, false);
    }

    private static Held freedEarly(long token, long from, long until) {
        return new Held("c" + token, "l", false, token, "g" + token, from * SECOND, until * SECOND, true);
    }

    private static GrantReport report(String grant, Source source, long sent, long answered, boolean over) {
        return new GrantReport("c", "l", 7, grant, source, sent * SECOND, answered * SECOND, over, "write");
    }

    @Test
    void leasesOneAfterTheOtherAndOfOtherLocksAndSharedOnesPass() {
        assertThat(LeasesDisjoint.violations(List.of(
                        held("l", false, 1, 0, 2),
                        held("l", false, 2, 2, 3),
                        held("m", false, 3, 0, 9),
                        held("s", true, 4, 0, 9),
                        held("s", true, 5, 1, 9))))
                .isEmpty();
    }

    @Test
    void twoExclusiveLeasesAtOnceAreFound() {
        assertThat(LeasesDisjoint.violations(List.of(held("l", false, 1, 0, 5), held("l", false, 2, 3, 4))))
                .containsExactly(
                        "P5: c2's lease of l with token 2 began 2000 ms before the end of c1's lease of l with token 1");
    }

    @Test
    void anExclusiveLeaseBesideASharedOneIsFoundWhicheverWasFirst() {
        assertThat(LeasesDisjoint.violations(List.of(held("l", true, 1, 0, 5), held("l", false, 2, 3, 4))))
                .hasSize(1);
        assertThat(LeasesDisjoint.violations(List.of(held("l", false, 1, 0, 5), held("l", true, 2, 3, 4))))
                .hasSize(1);
    }

    @Test
    void aLeaseThatReachesOverSeveralLaterOnesIsFoundWithEach() {
        assertThat(LeasesDisjoint.violations(
                        List.of(held("l", false, 3, 4, 5), held("l", false, 2, 2, 3), held("l", false, 1, 0, 9))))
                .hasSize(2);
    }

    @Test
    void aLeaseThatWasOverBeforeItsClientHeardOfItWasNeverBelievedIn() {
        assertThat(LeasesDisjoint.violations(
                        List.of(held("l", false, 1, 3, 2), held("l", false, 2, 1, 5), held("l", false, 3, 5, 5))))
                .isEmpty();
    }

    @Test
    void aLeaseThatTheServerEndedEarlyMayBeBelievedInButItsSuccessorMayNotBeDoubled() {
        assertThat(LeasesDisjoint.violations(List.of(freedEarly(1, 0, 9), held("l", false, 2, 3, 5))))
                .isEmpty();
        assertThat(LeasesDisjoint.violations(
                        List.of(freedEarly(1, 0, 9), held("l", false, 2, 3, 5), held("l", false, 3, 4, 6))))
                .hasSize(1);
    }

    @Test
    void acceptedBeforeTheEndAndSentBeforeItAndOtherGrantsPass() {
        assertThat(EndsFinal.violations(
                        List.of(
                                report("a", Source.GUARD, 1, 2, false),
                                report("a", Source.GUARD, 3, 6, false),
                                report("a", Source.GUARD, 0, 4, true),
                                report("b", Source.GUARD, 5, 6, false)),
                        List.of()))
                .isEmpty();
    }

    @Test
    void anEndAtTheServerDoesNotBindAGuard() {
        assertThat(EndsFinal.violations(
                        List.of(report("a", Source.SERVER, 0, 4, true), report("a", Source.GUARD, 5, 6, false)),
                        List.of()))
                .isEmpty();
    }

    @Test
    void aCallThatIsAcceptedAfterTheGrantWasStaleIsFound() {
        assertThat(EndsFinal.violations(
                        List.of(report("a", Source.GUARD, 5, 6, false), report("a", Source.GUARD, 0, 4, true)),
                        List.of()))
                .singleElement()
                .asString()
                .startsWith("P8: c's write of l under token 7 was accepted 1000 ms after");
    }

    @Test
    void theFirstEndCountsNotTheLast() {
        assertThat(EndsFinal.violations(
                        List.of(
                                report("a", Source.SERVER, 0, 9, true),
                                report("a", Source.SERVER, 0, 4, true),
                                report("a", Source.SERVER, 5, 6, false)),
                        List.of()))
                .hasSize(1);
    }

    @Test
    void aServerMayForgetWhatItSaidOverALossAndAGuardAndTheSdkMayNot() {
        DataLost loss = new DataLost(4 * SECOND, 5 * SECOND);
        for (Source source : Source.values()) {
            assertThat(EndsFinal.violations(
                            List.of(report("a", source, 1, 3, true), report("a", source, 6, 7, false)), List.of(loss)))
                    .as("%s", source)
                    .hasSize(source == Source.SERVER ? 0 : 1);
        }
    }

    @Test
    void aLossBeforeOrAfterBothExcusesNothing() {
        List<GrantReport> report =
                List.of(report("a", Source.SERVER, 2, 3, true), report("a", Source.SERVER, 6, 7, false));
        for (DataLost loss : List.of(new DataLost(0, SECOND), new DataLost(8 * SECOND, 9 * SECOND))) {
            assertThat(EndsFinal.violations(report, List.of(loss)))
                    .as("%s", loss)
                    .hasSize(1);
        }
    }

    @Test
    void whatIsSaidAfterTheLossIsFinalAgain() {
        assertThat(EndsFinal.violations(
                        List.of(
                                report("a", Source.SERVER, 2, 3, true),
                                report("a", Source.SERVER, 6, 7, true),
                                report("a", Source.SERVER, 8, 9, false)),
                        List.of(new DataLost(4 * SECOND, 5 * SECOND))))
                .hasSize(1);
    }

    @Test
    void aLeaseWithALockDelayThatTheServerEndsAsAnOfferIsFound() {
        Set<OffersNotUsed.Used> used = Set.of(new OffersNotUsed.Used("g1", 1));
        for (String what : List.of("LAPSED", "LEFT", "DROPPED")) {
            assertThat(OffersNotUsed.violations(List.of(entry(what, "g1", 1)), used))
                    .singleElement()
                    .asString()
                    .startsWith("P5: " + what);
        }
        assertThat(OffersNotUsed.violations(
                        List.of(entry("ABANDONED", "g1", 1), entry("LAPSED", "g1", 33), entry("LEFT", "g2", 1)), used))
                .as("a lease that ends, an offer made again, another's offer")
                .isEmpty();
    }

    private static LockEntry entry(String what, String grant, long token) {
        return new LockEntry("l", 0, what, token, grant, "c", "", 0);
    }
}
