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

    @Test
    void itIsTheListItWouldBe() {
        Random random = new Random(5);
        Tombstones ends = Tombstones.NONE;
        List<Tombstone> expected = new ArrayList<>();
        for (long number = 1; number <= 2_000; number++) {
            int gone = expected.size() < 20 || random.nextInt(3) > 0 ? 0 : random.nextInt(expected.size() + 1);
            expected.subList(0, gone).clear();
            expected.add(end(number));
            ends = ends.with(end(number), gone);
            assertThat(ends).isEqualTo(expected);
            for (Tombstone each : expected) {
                assertThat(ends.of(each.request())).contains(each);
                assertThat(ends.of(each.grant())).contains(each);
            }
            assertThat(ends.of(new GrantId(8, number))).isEmpty();
            assertThat(ends.of(end(number + 1).request())).isEmpty();
        }
    }

    @Test
    void theNewestOfSeveralIsFound() {
        Tombstone again = new Tombstone(end(1).request(), end(1).grant(), 1, End.EXPIRED, 9);
        Tombstones ends = Tombstones.of(List.of(end(1), end(2))).with(again, 0);
        assertThat(ends.of(end(1).request())).contains(again);
        assertThat(ends.of(end(1).grant())).contains(again);
    }

    /** A decision that nobody takes over never was. */
    @Test
    void whatIsAddedToOneIsNotSeenInItsElderNorInAnotherOfItsSuccessors() {
        Tombstones elder = Tombstones.NONE.with(end(1), 0).with(end(2), 0);
        Tombstones one = elder.with(end(3), 0);
        Tombstones other = elder.with(end(4), 1);
        assertThat(elder).containsExactly(end(1), end(2));
        assertThat(one).containsExactly(end(1), end(2), end(3));
        assertThat(other).containsExactly(end(2), end(4));
        assertThat(one.with(end(5), 0)).containsExactly(end(1), end(2), end(3), end(5));
        assertThat(other.of(end(3).request())).isEmpty();
        assertThat(other.of(end(1).request())).as("gone").isEmpty();
        assertThat(elder.of(end(3).grant())).isEmpty();
    }
}
