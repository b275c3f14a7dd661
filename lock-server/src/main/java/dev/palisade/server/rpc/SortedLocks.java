package dev.palisade.server.rpc;

import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.server.access.Rights;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockState;
import java.util.List;

/**
 * Page of a sorted listing of locks. Of the holders and waiters of a lock it has the first holder; their numbers count all.
 *
 * @param locksTotal on all pages
 * @param isComplete false: more locks are in use than one snapshot has, and the first by name were sorted
 */
public record SortedLocks(List<DescribeReply> locks, int locksTotal, boolean isComplete) {
    public SortedLocks {
        locks = List.copyOf(locks);
    }

    /** @param visible in the order of names, without overlap; of the locks of {@code all} those that may be listed */
    static SortedLocks of(
            LockPage all, List<Rights.Range> visible, LockOrder order, int page, int size, Answers answers) {
        List<LockState> listed = all.locks().stream()
                .filter(state -> visible.stream().anyMatch(range -> isIn(range, state)))
                .sorted(order.comparator())
                .toList();
        List<DescribeReply> locks = listed.stream()
                .skip((page - 1L) * size)
                .limit(size)
                .map(state -> answers.summary(state, all.nowMillis()))
                .toList();
        return new SortedLocks(locks, listed.size(), all.nextAfter().isEmpty());
    }

    private static boolean isIn(Rights.Range range, LockState state) {
        String name = state.name().value();
        return range.isPrefix() ? name.startsWith(range.stem()) : name.equals(range.stem());
    }
}
