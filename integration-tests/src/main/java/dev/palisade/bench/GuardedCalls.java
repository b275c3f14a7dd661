package dev.palisade.bench;

import dev.palisade.bench.Rounds.Contestant;
import dev.palisade.bench.Rounds.Measured;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.proto.v1.GetObjectReply;
import dev.palisade.proto.v1.GetObjectRequest;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.ScenarioFailed;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;

/** The same small gRPC service with and without a guard before it, in a process of its own whose CPU time is read. */
final class GuardedCalls implements AutoCloseable {
    static final int IN_FLIGHT = 64;

    private final Child server;
    private final ManagedChannel guarded;
    private final ManagedChannel unguarded;
    private final Metadata headers = new Metadata();

    GuardedCalls(Path directory) throws IOException {
        Files.createDirectories(directory);
        KeysetFile keyset = KeysetFile.openOrCreate(directory.resolve(BenchServer.KEYSET));
        SequencerHeader.put(
                headers,
                keyset.sign(new Sequencer(
                        BenchServer.ISSUER,
                        new LockName(BenchServer.KEY),
                        Mode.EXCLUSIVE,
                        new FencingToken(1_000_000),
                        new GrantId(7, 1),
                        0)));
        server = Child.start(
                "bench server",
                List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        BenchServer.class.getName(),
                        directory.toString()),
                Map.of());
        guarded = channel("guarded ");
        unguarded = channel("unguarded ");
    }

    Map<String, Contestant> contestants() {
        Map<String, Contestant> contestants = new LinkedHashMap<>();
        contestants.put("guarded", time -> call(guarded, time));
        contestants.put("unguarded", time -> call(unguarded, time));
        return contestants;
    }

    private ManagedChannel channel(String name) {
        String line = server.await(each -> each.startsWith(name));
        return ManagedChannelBuilder.forAddress("127.0.0.1", Integer.parseInt(line.substring(name.length())))
                .usePlaintext()
                .directExecutor()
                .intercept(MetadataUtils.newAttachHeadersInterceptor(headers))
                .build();
    }

    private Measured call(ManagedChannel channel, Duration time) throws InterruptedException {
        ObjectsGrpc.ObjectsStub stub = ObjectsGrpc.newStub(channel);
        GetObjectRequest request =
                GetObjectRequest.newBuilder().setKey(BenchServer.KEY).build();
        Semaphore free = new Semaphore(IN_FLIGHT);
        AtomicReference<Throwable> failed = new AtomicReference<>();
        StreamObserver<GetObjectReply> answer = new StreamObserver<>() {
            @Override
            public void onNext(GetObjectReply reply) {}

            @Override
            public void onError(Throwable failure) {
                failed.set(failure);
                free.release();
            }

            @Override
            public void onCompleted() {
                free.release();
            }
        };
        long cpu = cpuNanos();
        long start = System.nanoTime();
        long until = start + time.toNanos();
        long sent = 0;
        while (System.nanoTime() - until < 0) {
            free.acquire();
            stub.get(request, answer);
            sent++;
        }
        free.acquire(IN_FLIGHT);
        Throwable failure = failed.get();
        if (failure != null) {
            throw new ScenarioFailed("a call failed: " + failure);
        }
        return new Measured(sent, System.nanoTime() - start, cpuNanos() - cpu);
    }

    private long cpuNanos() {
        return ProcessHandle.of(server.pid())
                .flatMap(process -> process.info().totalCpuDuration())
                .map(Duration::toNanos)
                .orElseThrow(() -> new ScenarioFailed("this system does not tell a process's CPU time"));
    }

    @Override
    public void close() {
        guarded.shutdownNow();
        unguarded.shutdownNow();
        server.close();
    }
}
