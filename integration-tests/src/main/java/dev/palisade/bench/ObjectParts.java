package dev.palisade.bench;

import com.google.protobuf.ByteString;
import dev.palisade.bench.Rounds.Contestant;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.proto.v1.PutObjectRequest;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Objects that are written by their locks' holders, to a storage that looks at the fence and to one that does not. */
final class ObjectParts {
    static final String FENCED = "with fence";
    static final String PLAIN = "without";
    static final String TITLE = "objects put under a lease, threads: " + ObjectParts.THREADS;

    private static final int THREADS = 8;
    private static final ByteString CONTENT = ByteString.copyFrom(new byte[100]);
    private static final Duration WAIT = Duration.ofSeconds(30);

    private ObjectParts() {}

    static void run(Services services, LockParts.Sink sink) throws Exception {
        try (ServerProcess locks = services.newServer(Store.SYNCED);
                ServerProcess fenced = locks.objects("fenced");
                ServerProcess plain = locks.objects("plain", "--guard", "off");
                PalisadeClient client = PalisadeClient.connect(locks.address())) {
            List<Lease> leases = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                leases.add(client.acquire("bench/object/" + i, WAIT));
            }
            ManagedChannel toFenced = channel(fenced);
            ManagedChannel toPlain = channel(plain);
            try {
                Map<String, Contestant> contestants = new LinkedHashMap<>();
                contestants.put(FENCED, putting(toFenced, fenced, leases));
                contestants.put(PLAIN, putting(toPlain, plain, leases));
                sink.compare(Part.OBJECTS, TITLE, PLAIN, contestants);
            } finally {
                toFenced.shutdownNow();
                toPlain.shutdownNow();
            }
        }
    }

    private static Contestant putting(ManagedChannel channel, ServerProcess objects, List<Lease> leases) {
        List<ObjectsGrpc.ObjectsBlockingStub> stubs = new ArrayList<>();
        leases.forEach(lease -> stubs.add(lease.attach(ObjectsGrpc.newBlockingStub(channel))));
        return time -> {
            Usage usage = Usage.begin(Map.of(
                    Service.CLIENT,
                    Usage.ofProcess(ProcessHandle.current().pid()),
                    Service.SERVER,
                    Usage.ofProcess(objects.pid())));
            List<Long> done = Threads.ofPlatform(THREADS).run(time, i -> {
                PutObjectRequest put = PutObjectRequest.newBuilder()
                        .setKey(leases.get(i).lock().value())
                        .setContent(CONTENT)
                        .build();
                return () -> {
                    var unused = stubs.get(i)
                            .withDeadlineAfter(WAIT.toSeconds(), TimeUnit.SECONDS)
                            .put(put);
                };
            });
            return usage.end(done.stream().mapToLong(Long::longValue).sum(), Map.of());
        };
    }

    private static ManagedChannel channel(ServerProcess objects) {
        return ManagedChannelBuilder.forTarget("dns:///" + objects.address())
                .usePlaintext()
                .build();
    }
}
