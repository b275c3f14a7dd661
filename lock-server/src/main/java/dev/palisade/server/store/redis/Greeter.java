package dev.palisade.server.store.redis;

import dev.palisade.contract.EventLog;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BooleanSupplier;

/** Takes up a primary: connects, takes only a Redis that may keep locks, and loads the function library where it is missing. Belongs to the loop. */
final class Greeter {
    private final StoreUri uri;
    private final Dialer dialer;
    private final Loading loading;
    private final BooleanSupplier started;
    private final EventLog events;

    /** @param started what must be mended before a start is only warned of later */
    Greeter(StoreUri uri, Dialer dialer, Loading loading, BooleanSupplier started, EventLog events) {
        this.uri = uri;
        this.dialer = dialer;
        this.loading = loading;
        this.started = started;
        this.events = events;
    }

    /** Fails with {@link Refusal}, and then leaves no connection. */
    CompletableFuture<Primary> link(Address address) {
        return dialer.dial(address)
                .thenCompose(wire -> greet(wire).whenComplete((primary, failure) -> {
                    if (failure != null) {
                        wire.close("it cannot be used");
                    }
                }));
    }

    private CompletableFuture<Primary> greet(Wire wire) {
        return ServerInfo.of(wire).thenCompose(info -> {
            String refusal = info.refusal(wire.address(), uri.kind());
            String atStart = info.refusalAtStart(wire.address());
            if (refusal == null && atStart != null) {
                if (started.getAsBoolean()) {
                    events.tell("store_warning", "message", atStart);
                } else {
                    refusal = atStart;
                }
            }
            return refusal != null
                    ? CompletableFuture.failedFuture(Refusal.of(refusal))
                    : loading.ensure(wire).thenApply(done -> {
                        if (!wire.isOpen()) {
                            throw new CompletionException(new Refusal(wire.address(), "the connection broke"));
                        }
                        return new Primary(wire, info);
                    });
        });
    }
}
