package dev.palisade.bench;

import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import dev.palisade.guard.grpc.GuardInterceptor;
import dev.palisade.proto.v1.GetObjectReply;
import dev.palisade.proto.v1.GetObjectRequest;
import dev.palisade.proto.v1.ObjectsGrpc;
import io.grpc.BindableService;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.nio.file.Path;

/** What {@link GuardedCalls} calls: one service twice, with a guard before it and without, on gRPC's own threads. */
final class BenchServer {
    static final String KEYSET = "keyset.json";
    static final String ISSUER = "bench";
    static final String KEY = "orders/42";

    private BenchServer() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        // Else the transport logs every frame that it sends and receives, which costs as much as half a call.
        System.setProperty("logback.configurationFile", "logback-demo.xml");
        Path directory = Path.of(args[0]);
        Path marks = directory.resolve("marks");
        MarkStore.createNeverUsed(marks);
        Guard guard = Guard.builder(KeysetFile.open(directory.resolve(KEYSET)).verifier(ISSUER), MarkStore.file(marks))
                .build();
        BindableService service = new Answering();
        Server guarded = start(
                ServerInterceptors.intercept(service, GuardInterceptor.of(guard, ObjectsGrpc.getServiceDescriptor())));
        Server unguarded = start(service.bindService());
        System.out.println("guarded " + guarded.getPort());
        System.out.println("unguarded " + unguarded.getPort());
        guarded.awaitTermination();
        unguarded.awaitTermination();
    }

    private static Server start(ServerServiceDefinition service) throws IOException {
        return Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
                .addService(service)
                .build()
                .start();
    }

    private static final class Answering extends ObjectsGrpc.ObjectsImplBase {
        @Override
        public void get(GetObjectRequest request, StreamObserver<GetObjectReply> answer) {
            answer.onNext(GetObjectReply.newBuilder().setFound(true).build());
            answer.onCompleted();
        }
    }
}
