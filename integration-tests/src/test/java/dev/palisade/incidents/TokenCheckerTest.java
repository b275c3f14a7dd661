package dev.palisade.incidents;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.Granted;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Each fault is planted in a record in which nothing else is wrong. Times are tens: n1 is the primary up to 500, n2
 * from 510 on.
 */
class TokenCheckerTest {
    private static final List<PrimaryTerm> REIGNS =
            List.of(new PrimaryTerm("n1", 0, 500), new PrimaryTerm("n2", 510, Long.MAX_VALUE));

    private final List<IssuedToken> record = new ArrayList<>();

    private void taken(String node, String epoch, long token, long asked) {
        taken(node, epoch, token, asked, 7);
    }

    private void taken(String node, String epoch, long token, long asked, int incident) {
        record.add(new IssuedToken(
                new Granted("near0", "counter", false, token, "grant-" + record.size(), asked, asked + 5),
                "lock",
                node,
                epoch,
                incident));
    }

    private Counts counts() {
        return TokenChecker.of(record, REIGNS).counts(Map.of()).getOrDefault(7, Counts.NONE);
    }

    private static Counts only(
            long grants, long duplicates, long regressions, long interleaved, long above, long stale) {
        return new Counts(grants, 0, duplicates, regressions, interleaved, above, stale, 0);
    }

    @Test
    void risingTokensHaveNoFault() {
        taken("n1", "a", 1, 10);
        taken("n1", "a", 2, 20);
        taken("n1", "b", 10, 30);
        taken("n2", "c", 20, 520);
        assertThat(counts()).isEqualTo(only(4, 0, 0, 0, 0, 0));
    }

    @Test
    void concurrentRequestsMayHaveAnyTokenOrder() {
        taken("n1", "a", 2, 10);
        taken("n1", "a", 1, 12);
        assertThat(counts()).isEqualTo(only(2, 0, 0, 0, 0, 0));
    }

    @Test
    void duplicateTokenIsFound() {
        taken("n1", "a", 1, 10);
        taken("n1", "a", 1, 12);
        assertThat(counts()).isEqualTo(only(2, 1, 0, 0, 0, 0));
    }

    @Test
    void decreaseWithinAnEpochIsFound() {
        taken("n3", "a", 2, 10);
        taken("n3", "a", 1, 20);
        assertThat(counts()).isEqualTo(only(2, 0, 1, 0, 0, 0));
    }

    @Test
    void decreaseAcrossAPromotionIsFound() {
        taken("n1", "a", 20, 10);
        taken("n2", "b", 10, 520);
        assertThat(counts()).isEqualTo(only(2, 0, 1, 0, 0, 0));
    }

    @Test
    void interleavedEpochsAreFound() {
        taken("n1", "a", 10, 10);
        taken("n1", "b", 20, 12);
        taken("n1", "a", 30, 14);
        assertThat(counts()).isEqualTo(only(3, 0, 0, 1, 0, 0));
    }

    @Test
    void lowerTokensOfDeposedPrimaryAreStaleOnly() {
        taken("n1", "a", 10, 10);
        taken("n2", "b", 20, 520);
        taken("n1", "a", 11, 530);
        assertThat(counts()).isEqualTo(only(3, 0, 0, 0, 0, 1));
    }

    @Test
    void deposedPrimaryAboveSuccessorIsFound() {
        taken("n1", "a", 10, 10);
        taken("n2", "b", 20, 520);
        taken("n1", "c", 30, 530);
        assertThat(counts()).isEqualTo(only(3, 0, 0, 0, 1, 1));
    }

    @Test
    void deposedPrimaryAboveLaterTokensIsFound() {
        taken("n1", "c", 30, 505);
        taken("n2", "b", 20, 540);
        assertThat(counts().aboveNewer()).isEqualTo(1);
    }

    @Test
    void deposedPrimaryIsBelowAllSuccessors() {
        taken("n1", "a", 30, 530);
        taken("n2", "b", 40, 540);
        taken("n3", "c", 20, 720);
        List<PrimaryTerm> three = List.of(
                new PrimaryTerm("n1", 0, 500),
                new PrimaryTerm("n2", 510, 700),
                new PrimaryTerm("n3", 710, Long.MAX_VALUE));
        Counts counts = TokenChecker.of(record, three).counts(Map.of()).getOrDefault(7, Counts.NONE);
        assertThat(counts.aboveNewer()).isEqualTo(1);
    }

    @Test
    void onlyUniquenessIsCheckedDuringPromotion() {
        taken("n1", "a", 30, 498);
        taken("n2", "b", 20, 520);
        assertThat(counts()).isEqualTo(only(2, 0, 0, 0, 0, 0));
    }

    @Test
    void unknownEpochIsNoFault() {
        taken("n3", "", 20, 10);
        taken("n3", "", 10, 20);
        assertThat(counts()).isEqualTo(only(2, 0, 0, 0, 0, 0));
    }

    @Test
    void faultCountsForIncidentOfItsGrant() {
        taken("n1", "a", 20, 10, 1);
        taken("n1", "a", 10, 20, 2);
        TokenChecker checker = TokenChecker.of(record, REIGNS);
        assertThat(checker.counts(Map.of(3, 4)))
                .containsEntry(1, new Counts(1, 0, 0, 0, 0, 0, 0, 0))
                .containsEntry(2, new Counts(1, 0, 0, 1, 0, 0, 0, 0))
                .containsEntry(3, new Counts(0, 4, 0, 0, 0, 0, 0, 0));
        assertThat(checker.faults()).containsOnlyKeys(2);
        assertThat(checker.faults().get(2)).containsExactly("P2: token 10 of grant-1 by n1, epoch a");
    }
}
