package dev.palisade.cli.call;

import dev.palisade.cli.term.ExitCodes;
import dev.palisade.contract.cli.Commands.Failed;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Reads a paged listing to its end; never longer than the timeout of its calls, and never a page twice. */
public final class Paging {
    /** The most that a lock server sends in one page. */
    public static final int PAGE_SIZE = 1_000;

    private Paging() {}

    /** @param nextToken empty on the last page */
    public record Page<T>(List<T> items, String nextToken) {}

    /** The page that a token leads to. */
    @FunctionalInterface
    public interface Source<T> {
        Page<T> page(String token) throws Failed;
    }

    /** Takes the items of one page. */
    @FunctionalInterface
    public interface Sink<T> {
        void add(List<T> items);
    }

    /** @throws Failed also when the server sends a page token for the second time: its list would never end */
    public static <T> void read(Source<T> source, Sink<T> sink) throws Failed {
        Set<String> seen = new HashSet<>();
        String token = "";
        do {
            if (!seen.add(token)) {
                throw new Failed(
                        ExitCodes.NO_ANSWER,
                        "",
                        "the list is incomplete: the lock server sent the same page token twice");
            }
            Page<T> page;
            try {
                page = source.page(token);
            } catch (Failed e) {
                throw seen.size() == 1
                        ? e
                        : new Failed(
                                e.exitCode(),
                                e.reason(),
                                e.message() + "; the list is incomplete: allow more time with --timeout");
            }
            sink.add(page.items());
            token = page.nextToken();
        } while (!token.isEmpty());
    }
}
