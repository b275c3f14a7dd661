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

/** The overlap of two polls of one history. */
class LockHistoryPollerTest {
    private static int asked;

    /** Entries of these grants, history at another time than ever before. */
    private static List<HistoryEntry> history(int... grants) {
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
        assertThat(LockHistoryPoller.overlap(history(), history(1, 2))).isZero();
        assertThat(LockHistoryPoller.overlap(history(1, 2), history(1, 2))).isEqualTo(2);
        assertThat(LockHistoryPoller.overlap(history(1, 2), history(1, 2, 3))).isEqualTo(2);
        assertThat(LockHistoryPoller.overlap(history(1, 2, 3), history(2, 3, 4)))
                .isEqualTo(2);
        assertThat(LockHistoryPoller.overlap(history(1, 1), history(1, 1, 1))).isEqualTo(2);
    }

    @Test
    void aHistoryThatDoesNotHoldTheNewestEntryIsBroken() {
        assertThat(LockHistoryPoller.overlap(history(1, 2), history(3))).isZero();
        assertThat(LockHistoryPoller.overlap(history(1, 2, 3), history(1, 2))).isZero();
        assertThat(LockHistoryPoller.overlap(history(1, 2, 3), history(1, 2, 4)))
                .isZero();
    }
}
