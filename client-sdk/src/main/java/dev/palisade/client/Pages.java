package dev.palisade.client;

import dev.palisade.contract.RejectedException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** Lists page by page, each asked for when the one before is used up. For one thread. */
final class Pages<T> implements Iterator<T> {
    private final Function<String, Page<T>> ask;
    private final Deque<T> page = new ArrayDeque<>();
    private String token = "";
    private boolean last;

    /** @param nextToken empty: this was the last */
    record Page<T>(List<T> items, String nextToken) {}

    private Pages(Function<String, Page<T>> ask) {
        this.ask = ask;
    }

    /** @param ask for the page of a token; the first has the empty one */
    static <T> Stream<T> stream(Function<String, Page<T>> ask) {
        return StreamSupport.stream(
                Spliterators.spliteratorUnknownSize(new Pages<>(ask), Spliterator.ORDERED | Spliterator.NONNULL),
                false);
    }

    @Override
    public boolean hasNext() {
        while (page.isEmpty() && !last) {
            Page<T> next = ask.apply(token);
            page.addAll(next.items());
            last = next.nextToken().isEmpty();
            if (!last && next.nextToken().equals(token)) {
                throw RejectedException.malformed("the server lists the same page for ever");
            }
            token = next.nextToken();
        }
        return !page.isEmpty();
    }

    @Override
    public T next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        return page.remove();
    }
}
