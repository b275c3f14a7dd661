package dev.palisade.examples;

import static io.grpc.health.v1.HealthCheckResponse.ServingStatus.NOT_SERVING;
import static io.grpc.health.v1.HealthCheckResponse.ServingStatus.SERVING;

import dev.palisade.examples.orders.OrdersGrpc;
import dev.palisade.guard.Guard;
import io.grpc.protobuf.services.HealthStatusManager;

/** The gRPC health of a guarded service follows its guard. */
public final class GuardHealth {
    private GuardHealth() {}

    /** From now on {@code health} says of the orders what {@code guard} says of itself. */
    public static void follow(Guard guard, HealthStatusManager health) {
        // snippet
        guard.onServingChange(serving -> health.setStatus(OrdersGrpc.SERVICE_NAME, serving ? SERVING : NOT_SERVING));
        // end
    }
}
