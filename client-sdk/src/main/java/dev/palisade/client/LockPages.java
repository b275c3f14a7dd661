package dev.palisade.client;

import dev.palisade.contract.RejectedException;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.ListReply;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Function;

/** Lists page by page, each asked for when the one before is used up. For one thread. */
final class LockPages implements Iterator<LockDescription> {
    private final Function<String, ListReply> ask;
    private final Deque<DescribeReply> page = new ArrayDeque<>();
    private String token = "";
    private boolean last;

    /** @param ask for the page of a token; the first has the empty one */
    LockPages(Function<String, ListReply> ask) {
        this.ask = ask;
    }

    @Override
    public boolean hasNext() {
        while (page.isEmpty() && !last) {
            ListReply reply = ask.apply(token);
            page.addAll(reply.getLocksList());
            last = reply.getNextPageToken().isEmpty();
            if (!last && reply.getNextPageToken().equals(token)) {
                throw RejectedException.malformed("the server lists the same page for ever");
            }
            token = reply.getNextPageToken();
        }
        return !page.isEmpty();
    }

    @Override
    public LockDescription next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        return Wire.description(page.remove());
    }
}
