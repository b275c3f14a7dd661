package dev.palisade.server.store.redis;

import dev.palisade.contract.LockName;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A page of the known names of all domains, in order. Each domain is asked for a few; where one has more, the page ends. */
final class Listing {
    private static final int PER_DOMAIN = 16;

    private Listing() {}

    /**
     * @param names with the prefix, in order, at most as many as were asked for
     * @param nextAfter where to go on; empty at the end
     */
    record Names(List<LockName> names, String nextAfter) {}

    static CompletableFuture<Names> names(RedisLink link, List<Domain> domains, String prefix, String after, int most) {
        byte[] from = CommandWords.text(after.isEmpty() ? "[" + prefix : "(" + after);
        int each = most < 4 * PER_DOMAIN ? Math.min(most + 1, PER_DOMAIN) : PER_DOMAIN;
        List<CompletableFuture<List<Object>>> asked = new ArrayList<>(domains.size());
        for (Domain domain : domains) {
            asked.add(link.call(
                    "palisade_names", List.of(domain.names), List.of(from, CommandWords.text(Integer.toString(each)))));
        }
        return CompletableFuture.allOf(asked.toArray(new CompletableFuture<?>[0]))
                .thenApply(
                        all -> page(asked.stream().map(CompletableFuture::join).toList(), prefix, most, each));
    }

    private static Names page(List<List<Object>> replies, String prefix, int most, int each) {
        List<LockName> found = new ArrayList<>();
        String bound = "";
        for (List<Object> reply : replies) {
            List<Object> names = FunctionAnswer.list(reply.get(2));
            String last = "";
            for (Object name : names) {
                last = FunctionAnswer.string(name);
                if (last.startsWith(prefix)) {
                    found.add(new LockName(last));
                }
            }
            // Beyond its last name this domain may have more.
            if (names.size() == each && last.startsWith(prefix) && (bound.isEmpty() || last.compareTo(bound) < 0)) {
                bound = last;
            }
        }
        String end = bound;
        List<LockName> inOrder = found.stream()
                .filter(name -> end.isEmpty() || name.value().compareTo(end) <= 0)
                .sorted()
                .toList();
        if (inOrder.size() > most) {
            List<LockName> cut = inOrder.subList(0, most);
            return new Names(cut, cut.get(most - 1).value());
        }
        return new Names(inOrder, bound);
    }
}
