package dev.palisade.server.core.explain;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.GrantId;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.HistoryEntry.What;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Three grants that begin and end in every order, with every stretch of their history missing. */
class NextGrantTest {
    private static final int GRANTS = 3;

    private static HistoryEntry entry(What what, int grant) {
        return new HistoryEntry(1, what, 32L * grant + 1, new GrantId(grant, 1), "client " + grant, "");
    }

    /** All histories in which each grant begins, in the order of the tokens, before it ends. */
    private static void histories(int begun, List<Integer> open, List<HistoryEntry> so, List<List<HistoryEntry>> all) {
        all.add(List.copyOf(so));
        if (begun < GRANTS) {
            so.add(entry(What.GRANTED, begun));
            open.add(begun);
            histories(begun + 1, open, so, all);
            open.remove(open.size() - 1);
            so.remove(so.size() - 1);
        }
        for (int grant : List.copyOf(open)) {
            so.add(entry(What.EXPIRED, grant));
            open.remove((Integer) grant);
            histories(begun, open, so, all);
            open.add(grant);
            so.remove(so.size() - 1);
        }
    }

    /** What is true of the whole history. */
    private static Optional<HistoryEntry> truth(List<HistoryEntry> history, long token) {
        boolean[] over = {false};
        return history.stream()
                .filter(entry -> {
                    over[0] |= entry.token() == token && entry.what() == What.EXPIRED;
                    return over[0] && entry.what() == What.GRANTED && entry.token() > token;
                })
                .findFirst();
    }

    @Test
    void nextGrantIsTrueOrNotKnownWhateverIsMissing() {
        List<List<HistoryEntry>> all = new ArrayList<>();
        histories(0, new ArrayList<>(), new ArrayList<>(), all);
        int known = 0;
        for (List<HistoryEntry> whole : all) {
            for (int from = 0; from <= whole.size(); from++) {
                for (int to = from; to <= whole.size(); to++) {
                    List<HistoryEntry> left = new ArrayList<>(whole.subList(0, from));
                    left.addAll(whole.subList(to, whole.size()));
                    if (to > from && from < left.size()) {
                        left.set(from, left.get(from).afterGap());
                    }
                    for (int grant = 0; grant < GRANTS; grant++) {
                        long token = 32L * grant + 1;
                        NextGrant next = NextGrant.after(token, left);
                        if (next.isKnown() && (to == from || to < whole.size())) {
                            known++;
                            assertThat(next.begin()).as("%s of %s", left, whole).isEqualTo(truth(whole, token));
                        } else if (to == from) {
                            assertThat(left).noneMatch(entry -> entry.equals(entry(What.EXPIRED, (int) (token / 32))));
                        }
                    }
                }
            }
        }
        assertThat(known).isGreaterThan(500);
    }
}
