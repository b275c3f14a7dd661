package dev.palisade.guard.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.guard.Admissions;
import dev.palisade.guard.grpc.shop.Done;
import dev.palisade.guard.grpc.shop.Item;
import dev.palisade.guard.grpc.shop.ShopGrpc;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.ServerCallHandler;
import io.grpc.Status;
import io.grpc.SynchronizationContext;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What a caller is told, and when, with an admission in the test's hand. */
class HandlingTest {
    private final CompletableFuture<Void> announced = new CompletableFuture<>();
    private final SynchronizationContext turns = new SynchronizationContext((thread, failure) -> {
        throw new AssertionError(failure);
    });
    private final HandMadeCall call = new HandMadeCall(ShopGrpc.getPutMethod());
    private final Handling<Item, Done> handling =
            new Handling<>(call, Admissions.announcedBy(announced), Context.ROOT, turns, Served.item("a"), 2);

    @Test
    void callerHearsOfAHandlerThatThrewOnceEveryGuardKeepsItsNextCallOut() {
        ServerCallHandler<Item, Done> broken = (opened, headers) -> {
            throw new IllegalStateException("broken");
        };
        turns.execute(() -> handling.start(broken, new Metadata()));
        assertThat(call.ends).isEmpty();
        announced.complete(null);
        assertThat(call.ends).containsExactly(Status.Code.UNKNOWN);
    }

    @Test
    void callerOfASupersededCallHearsOfItAtOnce() {
        handling.start((opened, headers) -> new io.grpc.ServerCall.Listener<>() {}, new Metadata());
        handling.stop(Status.FAILED_PRECONDITION, new Metadata());
        assertThat(call.ends).containsExactly(Status.Code.FAILED_PRECONDITION);
    }
}
