package dev.palisade.faults;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.Operations.HistoryEntry;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What of a history that is asked for again was there before. */
class LockHistoriesTest {
    private static int asked;

    /** Entries of these grants, told at another time than ever before. */
    private static List<HistoryEntry> told(int... grants) {
        asked++;
        List<HistoryEntry> entries = new ArrayList<>();
        for (int grant : grants) {
            entries.add(new HistoryEntry(
                    Instant.ofEpochMilli(grant + asked),
                    "GRANTED",
                    Optional.of(new FencingToken(grant)),
                    new GrantId(0, grant),
                    "c",
                    "",
                    "",
                    false));
        }
        return entries;
    }

    @Test
    void whatFollowsTheSameEntriesIsNewThoughTheirTimesAreToldDifferently() {
        assertThat(LockHistories.overlap(told(), told(1, 2))).isZero();
        assertThat(LockHistories.overlap(told(1, 2), told(1, 2))).isEqualTo(2);
        assertThat(LockHistories.overlap(told(1, 2), told(1, 2, 3))).isEqualTo(2);
        assertThat(LockHistories.overlap(told(1, 2, 3), told(2, 3, 4))).isEqualTo(2);
        assertThat(LockHistories.overlap(told(1, 1), told(1, 1, 1))).isEqualTo(2);
    }

    @Test
    void aHistoryThatDoesNotHoldTheNewestEntryIsBroken() {
        assertThat(LockHistories.overlap(told(1, 2), told(3))).isZero();
        assertThat(LockHistories.overlap(told(1, 2, 3), told(1, 2))).isZero();
        assertThat(LockHistories.overlap(told(1, 2, 3), told(1, 2, 4))).isZero();
    }
}
