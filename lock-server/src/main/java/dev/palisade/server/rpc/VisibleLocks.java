package dev.palisade.server.rpc;

import dev.palisade.server.access.Rights;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockState;
import dev.palisade.server.engine.LockEngine;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Listing of the locks that a caller may see, range by range: locks between the ranges are neither read nor named, not even by a page
 * token.
 */
final class VisibleLocks {
    /** One page looks at no more names than that which are not in use. */
    private static final int RANGES_AT_A_TIME = 100;

    private final List<Rights.Range> ranges;
    private final LockEngine engine;

    /** @param ranges in the order of names, without overlap */
    VisibleLocks(List<Rights.Range> ranges, LockEngine engine) {
        this.ranges = ranges;
        this.engine = engine;
    }

    /** @param after a lock's name; empty for the first page */
    CompletionStage<LockPage> page(String after, int size) {
        return page(0, after, size);
    }

    private CompletionStage<LockPage> page(int from, String after, int size) {
        int index = from;
        while (index < ranges.size() && isBefore(ranges.get(index), after)) {
            index++;
        }
        if (index == ranges.size()) {
            return CompletableFuture.completedFuture(new LockPage(List.of(), "", 0));
        }
        Rights.Range range = ranges.get(index);
        int next = index + 1;
        String begun = after.startsWith(range.stem()) ? after : "";
        return engine.list(range.stem(), begun, range.isPrefix() ? size : 1).thenCompose(page -> {
            LockPage seen = range.isPrefix() ? page : exactly(range.stem(), page);
            if (!seen.nextAfter().isEmpty() || next == ranges.size()) {
                return CompletableFuture.completedFuture(seen);
            }
            if (seen.locks().isEmpty() && !range.isPrefix() && next % RANGES_AT_A_TIME == 0) {
                return CompletableFuture.completedFuture(new LockPage(List.of(), range.stem(), seen.nowMillis()));
            }
            return seen.locks().isEmpty()
                    ? page(next, after, size)
                    : CompletableFuture.completedFuture(new LockPage(
                            seen.locks(),
                            seen.locks().get(seen.locks().size() - 1).name().value(),
                            seen.nowMillis()));
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
