package dev.palisade.guard.grpc;

import dev.palisade.guard.grpc.shop.Done;
import dev.palisade.guard.grpc.shop.Item;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A client's side of one call: how many replies came, and how it ended. */
final class Answer implements ClientResponseObserver<Item, Done> {
    final AtomicInteger replies = new AtomicInteger();
    final CompletableFuture<Done> end = new CompletableFuture<>();

    @Nullable
    private ClientCallStreamObserver<Item> call;

    @Override
    public void beforeStart(ClientCallStreamObserver<Item> started) {
        call = started;
    }

    /** The client goes away. */
    void cancel() {
        if (call != null) {
            call.cancel("enough", null);
        }
    }

    @Override
    public void onNext(Done reply) {
        replies.incrementAndGet();
    }

    @Override
    public void onError(Throwable failure) {
        end.completeExceptionally(failure);
    }

    @Override
    public void onCompleted() {
        end.complete(Done.getDefaultInstance());
    }
}
