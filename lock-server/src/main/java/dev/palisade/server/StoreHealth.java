package dev.palisade.server;

import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.server.core.StoreStatus;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.protobuf.services.HealthStatusManager;
import java.util.function.Supplier;

/**
 * What the health of {@code palisade.v1.Locks} says: whether the store can decide. To be run again and again; whoever watches the
 * health hears of changes only. The process's own health, without a service name, is not touched: it serves, if only refusals.
 */
record StoreHealth(HealthStatusManager health, Supplier<StoreStatus> store) implements Runnable {
    /** How often it is looked at. */
    static final long LOOK_MILLIS = 200;

    @Override
    public void run() {
        health.setStatus(LocksGrpc.SERVICE_NAME, store.get().up() ? ServingStatus.SERVING : ServingStatus.NOT_SERVING);
    }
}
