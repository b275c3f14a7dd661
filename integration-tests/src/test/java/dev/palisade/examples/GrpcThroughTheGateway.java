package dev.palisade.examples;

import dev.palisade.client.Lease;
import dev.palisade.examples.orders.OrdersGrpc.OrdersBlockingStub;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;

/** A stub whose calls carry the lease's sequencer, and the header from which the gateway takes the lock's name. */
final class GrpcThroughTheGateway {
    private GrpcThroughTheGateway() {}

    static OrdersBlockingStub stub(Lease lease, OrdersBlockingStub orders) {
        // snippet
        Metadata order = new Metadata();
        order.put(Metadata.Key.of("order-id", Metadata.ASCII_STRING_MARSHALLER), "42");
        OrdersBlockingStub guarded =
                lease.attach(orders).withInterceptors(MetadataUtils.newAttachHeadersInterceptor(order));
        // end
        return guarded;
    }
}
