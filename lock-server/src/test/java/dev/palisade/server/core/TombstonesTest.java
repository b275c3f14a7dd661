package dev.palisade.server.core;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class TombstonesTest {
    private static Tombstone end(long number) {
        return new Tombstone(
                new RequestId(new SessionId(1, 1), number), new GrantId(7, number), number, End.RELEASED, number);
    }

    private static Tombstone tried(long number) {
        return new Tombstone(new RequestId(new SessionId(2, 2), number), new GrantId(9, number), 0, End.BUSY, number);
    }

    /** Of numbers that are also their times. */
    @Test
    void itIsTheListItWouldBe() {
        Random random = new Random(5);
        Tombstones ends = Tombstones.NONE;
        List<Tombstone> kept = new ArrayList<>();
        List<Tombstone> tries = new ArrayList<>();
        for (long number = 1;
                number <= 400_000;
                number += random.nextInt(400) == 0 ? 30_000 : 1 + random.nextInt(400)) {
            Tombstone newest = random.nextBoolean() ? end(number) : tried(number);
            List<Tombstone> alike = newest.end() == End.BUSY ? tries : kept;
            long now = number;
            kept.removeIf(end -> end.endedAtMillis() + 60_000 <= now);
            tries.removeIf(end -> end.endedAtMillis() + 60_000 <= now);
            if (alike.size() == 256) {
                assertThat(ends.forgottenEarlyBy(newest))
                        .isEqualTo(alike.remove(0).endedAtMillis());
            } else {
                assertThat(ends.forgottenEarlyBy(newest)).isZero();
            }
            alike.add(newest);
            ends = ends.with(newest);
            List<Tombstone> expected = new ArrayList<>(kept);
            expected.addAll(tries);
            assertThat(ends).isEqualTo(expected);
            assertThat(Tombstones.of(expected)).isEqualTo(expected);
            assertThat(ends.latestMillis()).isEqualTo(number);
            for (Tombstone each : expected.subList(0, Math.min(3, expected.size()))) {
                assertThat(ends.of(each.request())).contains(each);
                assertThat(ends.of(each.grant())).contains(each);
            }
            assertThat(ends.of(new GrantId(8, number))).isEmpty();
            assertThat(ends.of(end(number + 1).request())).isEmpty();
        }
    }

    /** However often others try: who releases a lock again is told that it is released. */
    @Test
    void triesDoNotDisplaceOtherEnds() {
        Tombstones ends = Tombstones.NONE.with(end(1));
        for (int i = 2; i < 1_000; i++) {
            assertThat(ends.forgottenEarlyBy(tried(i))).isEqualTo(i > 257 ? i - 256 : 0);
            ends = ends.with(tried(i));
        }
        assertThat(ends.of(end(1).request())).contains(end(1));
        assertThat(ends).hasSize(257);
    }

    @Test
    void theNewestOfSeveralIsFound() {
        Tombstone again = new Tombstone(end(1).request(), end(1).grant(), 1, End.EXPIRED, 9);
        Tombstones ends = Tombstones.of(List.of(end(1), end(2))).with(again);
        assertThat(ends.of(end(1).request())).contains(again);
        assertThat(ends.of(end(1).grant())).contains(again);
    }

    /** A decision that nobody takes over never was. */
    @Test
    void whatIsAddedToOneIsNotSeenInItsElderNorInAnotherOfItsSuccessors() {
        Tombstones elder = Tombstones.NONE.with(end(1)).with(end(2));
        Tombstones one = elder.with(end(3));
        Tombstones other = elder.with(end(60_001));
        assertThat(elder).containsExactly(end(1), end(2));
        assertThat(one).containsExactly(end(1), end(2), end(3));
        assertThat(other).containsExactly(end(2), end(60_001));
        assertThat(one.with(end(5))).containsExactly(end(1), end(2), end(3), end(5));
        assertThat(other.of(end(3).request())).isEmpty();
        assertThat(other.of(end(1).request())).as("gone").isEmpty();
        assertThat(elder.of(end(3).grant())).isEmpty();
    }
}
