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

/** When and how a caller is notified, with an admission that the test controls. */
class HandlerDriverTest {
    private final CompletableFuture<Void> announced = new CompletableFuture<>();
    private final SynchronizationContext syncContext = new SynchronizationContext((thread, failure) -> {
        throw new AssertionError(failure);
    });
    private final HandMadeCall call = new HandMadeCall(ShopGrpc.getPutMethod());
    private final HandlerDriver<Item, Done> driver = new HandlerDriver<>(
            call, Admissions.announcedBy(announced), Context.ROOT, syncContext, Served.item("a"), 2);

    @Test
    void callerSeesAFailedHandlerOnceGuardsBlockItsNextCall() {
        ServerCallHandler<Item, Done> broken = (opened, headers) -> {
            throw new IllegalStateException("broken");
        };
        syncContext.execute(() -> driver.start(broken, new Metadata()));
        assertThat(call.ends).isEmpty();
        announced.complete(null);
        assertThat(call.ends).containsExactly(Status.Code.UNKNOWN);
    }

    @Test
    void callerOfASupersededCallIsNotifiedAtOnce() {
        driver.start((opened, headers) -> new io.grpc.ServerCall.Listener<>() {}, new Metadata());
        driver.stop(Status.FAILED_PRECONDITION, new Metadata());
        assertThat(call.ends).containsExactly(Status.Code.FAILED_PRECONDITION);
    }
}
