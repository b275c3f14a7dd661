package dev.palisade.replicas;

import dev.palisade.contract.cli.Defaults;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.examples.GuardHealth;
import dev.palisade.examples.orders.Order;
import dev.palisade.examples.orders.OrdersGrpc;
import dev.palisade.examples.orders.UpdateOrder;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import dev.palisade.guard.grpc.GrpcLockService;
import dev.palisade.guard.grpc.GuardInterceptor;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.h2.jdbcx.JdbcDataSource;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/** One replica of a guarded service: each update is a line in the file that all replicas write. Wiring only. */
public final class ReplicaProcess implements Callable<Integer> {
    @Option(names = "--port")
    private int port;

    @Option(names = "--locks", required = true)
    private String locks = "";

    @Option(names = "--backend", required = true)
    private Path backend = Path.of("");

    /** A directory, or the URL of an H2 database. */
    @Option(names = "--marks", required = true)
    private String marks = "";

    @Option(names = "--delta-millis", required = true)
    private long deltaMillis;

    /** Planted: the guard does not register, as before there were registrations. */
    @Option(names = "--unregistered")
    private boolean unregistered;

    private ReplicaProcess() {}

    public static void main(String[] args) {
        System.exit(new CommandLine(new ReplicaProcess()).execute(args));
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        Guard.Builder builder = Guard.builder(KeysetFile.open(Defaults.keyset()).verifier(Defaults.ISSUER), store())
                .unknownOutcomeTimeout(Duration.ofMillis(deltaMillis));
        if (!unregistered) {
            builder.lockService(GrpcLockService.at(
                    Grpc.newChannelBuilder(locks, InsecureChannelCredentials.create())
                            .build(),
                    Defaults.ISSUER));
        }
        Guard guard = builder.build();
        HealthStatusManager health = new HealthStatusManager();
        GuardHealth.follow(guard, health);
        GuardInterceptor interceptor = GuardInterceptor.of(guard, OrdersGrpc.getServiceDescriptor());
        Server server = Grpc.newServerBuilderForPort(port, InsecureServerCredentials.create())
                .addService(ServerInterceptors.intercept(new Orders(), interceptor))
                .addService(health.getHealthService())
                .build()
                .start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server, guard)));
        System.out.println("listening on 127.0.0.1:" + server.getPort());
        server.awaitTermination();
        return 0;
    }

    private MarkStore store() {
        if (!marks.startsWith("jdbc:")) {
            Path directory = Path.of(marks);
            if (Files.notExists(directory)) {
                MarkStore.createNeverUsed(directory);
            }
            return MarkStore.file(directory);
        }
        JdbcDataSource database = new JdbcDataSource();
        database.setURL(marks);
        MarkStore.createTables(database);
        MarkStore store = MarkStore.jdbc(database);
        return store;
    }

    private static void stop(Server server, Guard guard) {
        server.shutdown();
        try {
            if (!server.awaitTermination(60, TimeUnit.SECONDS)) {
                server.shutdownNow();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        guard.close();
    }

    private final class Orders extends OrdersGrpc.OrdersImplBase {
        @Override
        public void update(UpdateOrder request, StreamObserver<Order> answer) {
            try {
                Files.writeString(
                        backend,
                        request.getStatus() + "\n",
                        StandardCharsets.UTF_8,
                        StandardOpenOption.CREATE,
                        StandardOpenOption.APPEND);
            } catch (IOException e) {
                answer.onError(e);
                return;
            }
            answer.onNext(Order.newBuilder().setStatus(request.getStatus()).build());
            answer.onCompleted();
        }
    }
}
