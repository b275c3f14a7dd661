package dev.palisade.server.rpc;

import dev.palisade.server.access.Rights;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockState;
import dev.palisade.server.engine.LockEngine;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;

/**
 * Listing of the locks that a caller may see, range by range: locks between the ranges are neither read nor named, not even by a page
 * token.
 *
 * @param ranges in the order of names, without overlap
 */
record VisibleLocks(List<Rights.Range> ranges, LockEngine engine) {
    /** One page looks at no more names than that which are not in use. */
    private static final int RANGES_AT_A_TIME = 100;

    /** @param after a lock's name; empty for the first page */
    CompletionStage<LockPage> page(String after, int size) {
        return page(0, after, size, List.of());
    }

    /** @param found in the ranges before; of several ranges one page is made, as long as it has room */
    private CompletionStage<LockPage> page(int from, String after, int size, List<LockState> found) {
        int index = from;
        while (index < ranges.size() && isBefore(ranges.get(index), after)) {
            index++;
        }
        if (index == ranges.size()) {
            return CompletableFuture.completedFuture(new LockPage(found, "", engine.nowMillis()));
        }
        Rights.Range range = ranges.get(index);
        int next = index + 1;
        String begun = after.startsWith(range.stem()) ? after : "";
        int room = size - found.size();
        return engine.list(range.stem(), begun, range.isPrefix() ? room : 1).thenCompose(page -> {
            LockPage seen = range.isPrefix() ? page : exactly(range.stem(), page);
            List<LockState> all =
                    Stream.concat(found.stream(), seen.locks().stream()).toList();
            if (!seen.nextAfter().isEmpty() || next == ranges.size()) {
                return CompletableFuture.completedFuture(new LockPage(all, seen.nextAfter(), seen.nowMillis()));
            }
            boolean isFull = all.size() >= size;
            if (isFull || (!range.isPrefix() && next % RANGES_AT_A_TIME == 0)) {
                String last = isFull ? all.get(all.size() - 1).name().value() : range.stem();
                return CompletableFuture.completedFuture(new LockPage(all, last, seen.nowMillis()));
            }
            return page(next, after, size, all);
        });
    }

    /** Whether the listing has left the range behind. */
    private static boolean isBefore(Rights.Range range, String after) {
        return range.isPrefix()
                ? !after.startsWith(range.stem()) && range.stem().compareTo(after) < 0
                : range.stem().compareTo(after) <= 0;
    }

    /** The lock of that name: it comes first among those that begin with it. */
    private static LockPage exactly(String name, LockPage page) {
        List<LockState> found = page.locks().stream()
                .filter(state -> state.name().value().equals(name))
                .toList();
        return new LockPage(found, "", page.nowMillis());
    }
}
