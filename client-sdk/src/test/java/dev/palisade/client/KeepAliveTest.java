package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class KeepAliveTest {
    private static final long MS = 1_000_000;
    private static final OptionalLong TTL = OptionalLong.of(9_000);
    private final KeepAlive keepAlive = new KeepAlive(0);

    @Test
    void aThirdOfTheSmallestTtlAndAtMostHalfASecondWhileSomethingWaits() {
        assertThat(keepAlive.dueNanos(TTL, false)).isEqualTo(3_000 * MS);
        assertThat(keepAlive.dueNanos(TTL, true)).isEqualTo(500 * MS);
        assertThat(keepAlive.dueNanos(OptionalLong.of(1_200), true)).isEqualTo(400 * MS);
        assertThat(keepAlive.dueNanos(OptionalLong.empty(), true)).isEqualTo(500 * MS);
    }

    @Test
    void theNextIsDueOneIntervalAfterTheLast() {
        keepAlive.sent(at(3_100), true);
        assertThat(keepAlive.dueNanos(TTL, false)).isEqualTo(6_100 * MS);
        keepAlive.activated(50_000 * MS);
        assertThat(keepAlive.dueNanos(TTL, false)).isEqualTo(53_000 * MS);
    }

    @Test
    void whileSomethingWaitsTheyRenewNoSoonerThanLeasesNeedIt() {
        keepAlive.welcomed(true);
        int renewals = 0;
        for (int sent = 0; sent < 20; sent++) {
            long now = keepAlive.dueNanos(TTL, true);
            boolean renews = keepAlive.renews(TTL, now);
            renewals += renews ? 1 : 0;
            keepAlive.sent(at(now / MS), renews);
        }
        assertThat(keepAlive.dueNanos(TTL, true)).isEqualTo(10_500 * MS);
        assertThat(renewals).isEqualTo(3);
        assertThat(keepAlive.renews(OptionalLong.empty(), 60_000 * MS))
                .as("without leases")
                .isFalse();
    }

    @Test
    void aServerThatKnowsNoOthersIsSentRenewalsOnly() {
        assertThat(keepAlive.renews(TTL, 0)).isTrue();
        assertThat(keepAlive.renews(OptionalLong.empty(), 0)).isTrue();
    }

    @Test
    void anAnswerNamesTheSendingAndOlderOnesAreAnsweredWithIt() {
        assertThat(keepAlive.sent(at(100), true)).isEqualTo(1);
        assertThat(keepAlive.sent(at(200), true)).isEqualTo(2);
        assertThat(keepAlive.sent(at(300), true)).isEqualTo(3);
        assertThat(keepAlive.nextId()).isEqualTo(4);
        assertThat(keepAlive.replied(2, 0)).isEqualTo(sent(2, 200));
        assertThat(keepAlive.replied(1, 0)).isNull();
        assertThat(keepAlive.replied(2, 0)).isNull();
        assertThat(keepAlive.oldestUnrepliedNanos()).hasValue(300 * MS);
        assertThat(keepAlive.replied(3, 0)).isEqualTo(sent(3, 300));
        assertThat(keepAlive.oldestUnrepliedNanos()).isEmpty();
    }

    @Test
    void theAnswerToASignOfLifeConfirmsTheRenewalThatItNamesAndNoOther() {
        keepAlive.welcomed(true);
        keepAlive.sent(at(100), true);
        keepAlive.sent(at(200), true);
        keepAlive.sent(at(300), false);
        keepAlive.sent(at(400), true);
        keepAlive.sent(at(500), false);
        assertThat(keepAlive.replied(3, 0)).isNull();
        assertThat(keepAlive.oldestUnrepliedNanos())
                .as("no renewal is confirmed, so the link counts as silent")
                .hasValue(100 * MS);
        assertThat(keepAlive.replied(5, 2)).isEqualTo(sent(2, 200));
        assertThat(keepAlive.oldestUnrepliedNanos()).hasValue(400 * MS);
        assertThat(keepAlive.replied(5, 4)).isEqualTo(sent(4, 400));
        assertThat(keepAlive.oldestUnrepliedNanos()).isEmpty();
    }

    @Test
    void answersToWhatWasNeverSentAreNone() {
        assertThat(keepAlive.replied(1, 1)).isNull();
        keepAlive.sent(at(100), true);
        assertThat(keepAlive.replied(0, 0)).isNull();
        assertThat(keepAlive.replied(-1, -1)).isNull();
        assertThat(keepAlive.replied(2, 1)).isNull();
        assertThat(keepAlive.replied(1, 1)).isEqualTo(sent(1, 100));
        keepAlive.welcomed(true);
        keepAlive.sent(at(200), true);
        assertThat(keepAlive.replied(2, 3)).as("more than is answered").isEqualTo(sent(2, 200));
    }

    private static KeepAlive.Sent sent(long id, long millis) {
        return new KeepAlive.Sent(id, at(millis));
    }

    private static ClockReading at(long millis) {
        return new ClockReading(millis * MS, millis);
    }
}
