package dev.palisade.guard.grpc;

import dev.palisade.guard.grpc.shop.Done;
import dev.palisade.guard.grpc.shop.Item;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;

/** A call without a transport: notes what is asked of it, so that a test decides what arrives and when. */
final class HandMadeCall extends ServerCall<Item, Done> {
    /** How many messages each request asked for. */
    final List<Integer> requests = new ArrayList<>();

    private final MethodDescriptor<Item, Done> method;

    /** How it was closed; UNKNOWN while it is open. */
    Status status = Status.UNKNOWN;

    Metadata trailers = new Metadata();

    /** How it was closed, each time. */
    final List<Status.Code> ends = new ArrayList<>();

    HandMadeCall(MethodDescriptor<Item, Done> method) {
        this.method = method;
    }

    @Override
    public void request(int messages) {
        requests.add(messages);
    }

    @Override
    public void sendHeaders(Metadata headers) {}

    @Override
    public void sendMessage(Done message) {}

    @Override
    public void close(Status status, Metadata trailers) {
        this.status = status;
        this.trailers = trailers;
        ends.add(status.getCode());
    }

    @Override
    public boolean isCancelled() {
        return false;
    }

    @Override
    public MethodDescriptor<Item, Done> getMethodDescriptor() {
        return method;
    }
}
