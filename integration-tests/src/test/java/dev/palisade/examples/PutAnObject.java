package dev.palisade.examples;

import com.google.protobuf.ByteString;
import dev.palisade.client.Lease;
import dev.palisade.proto.v1.GetObjectReply;
import dev.palisade.proto.v1.GetObjectRequest;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.proto.v1.PutObjectRequest;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;

/** The snippet of the guide to protected objects. */
final class PutAnObject {
    private PutAnObject() {}

    static void run(Lease lease) {
        // snippet
        ManagedChannel channel =
                ManagedChannelBuilder.forTarget("127.0.0.1:7610").usePlaintext().build();
        ObjectsGrpc.ObjectsBlockingStub mine = lease.attach(ObjectsGrpc.newBlockingStub(channel));
        GetObjectReply before =
                mine.get(GetObjectRequest.newBuilder().setKey("stock/42").build());
        ByteString after = sellOne(before.getContent());
        mine.put(PutObjectRequest.newBuilder()
                .setKey("stock/42")
                .setContent(after)
                .build());
        // end
    }

    private static ByteString sellOne(ByteString stock) {
        return ByteString.copyFromUtf8(String.valueOf(Long.parseLong(stock.toStringUtf8()) - 1));
    }
}
