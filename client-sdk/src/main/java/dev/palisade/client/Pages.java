package dev.palisade.client;

import dev.palisade.contract.RejectedException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.concurrent.CancellationException;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** An iterator over a paged listing, which requests a page once the page before is used up. For one thread. */
final class Pages<T> implements Iterator<T> {
    private final Source<T> source;
    private final Deque<T> page = new ArrayDeque<>();
    private String token = "";
    private boolean last;

    /** @param nextToken empty: this was the last */
    record Page<T>(List<T> items, String nextToken) {}

    /** A source of pages. */
    @FunctionalInterface
    interface Source<T> {
        /** Requests the page of a token; the first page has the empty one. */
        Page<T> page(String token) throws InterruptedException;
    }

    private Pages(Source<T> source) {
        this.source = source;
    }

    static <T> Stream<T> stream(Source<T> source) {
        return StreamSupport.stream(
                Spliterators.spliteratorUnknownSize(new Pages<>(source), Spliterator.ORDERED | Spliterator.NONNULL),
                false);
    }

    @Override
    public boolean hasNext() {
        while (page.isEmpty() && !last) {
            Page<T> next = nextPage();
            page.addAll(next.items());
            last = next.nextToken().isEmpty();
            if (!last && next.nextToken().equals(token)) {
                throw RejectedException.malformed("the server lists the same page for ever");
            }
            token = next.nextToken();
        }
        return !page.isEmpty();
    }

    /** A step of a stream cannot throw {@link InterruptedException}. */
    private Page<T> nextPage() {
        try {
            return source.page(token);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            CancellationException cancelled =
                    new CancellationException("interrupted while a page was asked for; the stream ends here");
            cancelled.initCause(e);
            throw cancelled;
        }
    }

    @Override
    public T next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        return page.remove();
    }
}
