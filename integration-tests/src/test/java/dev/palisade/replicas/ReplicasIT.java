package dev.palisade.replicas;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.HolderInfo;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.examples.orders.OrdersGrpc;
import dev.palisade.examples.orders.UpdateOrder;
import dev.palisade.guard.MarkStore;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;
import org.h2.jdbcx.JdbcDataSource;
import org.h2.tools.Server;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Two replicas of a guarded service as real processes, with a real lock server. */
@Execution(ExecutionMode.CONCURRENT)
class ReplicasIT {
    private static final Duration DELTA = Duration.ofSeconds(2);

    private final Installation installation = Installation.fresh();
    private Service locks = installation.server();
    private final PalisadeClient a = PalisadeClient.connect(locks.address());
    private final PalisadeClient b = PalisadeClient.connect(locks.address());
    private final List<Replica> replicas = new ArrayList<>();
    private final Path backend = installation.home().resolve("applied");
    private @Nullable Server database;

    private record Replica(Service service, ManagedChannel channel) {
        ServingStatus health() {
            return HealthGrpc.newBlockingStub(channel)
                    .check(HealthCheckRequest.newBuilder()
                            .setService(OrdersGrpc.SERVICE_NAME)
                            .build())
                    .getStatus();
        }

        void awaitHealth(ServingStatus status) {
            Awaitility.await().atMost(Duration.ofMinutes(1)).until(this::health, status::equals);
        }

        /** A guard that is not sure of its marks, as on a busy machine, asks for another try: nothing was applied then. */
        void apply(Lease lease, String status) {
            Awaitility.await()
                    .atMost(Duration.ofMinutes(1))
                    .ignoreExceptionsMatching(ReplicasIT::isUnavailable)
                    .until(() -> {
                        update(lease, status);
                        return true;
                    });
        }

        void update(Lease lease, String status) {
            var unused = lease.attach(OrdersGrpc.newBlockingStub(channel))
                    .update(UpdateOrder.newBuilder()
                            .setOrderId("42")
                            .setStatus(status)
                            .build());
        }
    }

    @AfterEach
    void stop() {
        a.close();
        b.close();
        for (Replica replica : replicas) {
            replica.channel().shutdownNow();
            replica.service().child().kill();
        }
        locks.child().kill();
        if (database != null) {
            database.stop();
        }
        installation.close();
    }

    private Replica replica(String marks, String... options) {
        List<String> all = new ArrayList<>(List.of(
                "--locks",
                locks.address(),
                "--backend",
                backend.toString(),
                "--marks",
                marks,
                "--delta-millis",
                Long.toString(DELTA.toMillis())));
        all.addAll(List.of(options));
        Service service = installation.service(
                "replica", ReplicaProcess.class, List.of(), line -> {}, all.toArray(new String[0]));
        Replica replica = new Replica(
                service,
                Grpc.newChannelBuilder(service.address(), InsecureChannelCredentials.create())
                        .build());
        replicas.add(replica);
        return replica;
    }

    private String directory(String name) {
        return installation.home().resolve(name).toString();
    }

    /** The URL of a database for marks under which nothing was ever guarded. Its server is here, so no replica's end takes it away. */
    private String database() throws SQLException {
        Server server = Server.createTcpServer("-tcpPort", "0", "-ifNotExists").start();
        database = server;
        JdbcDataSource source = new JdbcDataSource();
        source.setURL("jdbc:h2:tcp://127.0.0.1:" + server.getPort() + "/"
                + installation.home().resolve("marks") + ";WRITE_DELAY=0");
        MarkStore.createTables(source);
        MarkStore.createNeverUsed(source);
        return source.getURL();
    }

    /** Waits for the first answer to its registration: a call that comes before is held back, and may be refused. */
    private Replica serving(String marks, String... options) {
        Replica replica = replica(marks, options);
        replica.awaitHealth(ServingStatus.SERVING);
        return replica;
    }

    /** An empty directory, so that a guard starts as a new one: a missing one becomes a store that was never used. */
    private String emptyDirectory(String name) throws IOException {
        return Files.createDirectory(installation.home().resolve(name)).toString();
    }

    /** Writes under a fresh lease; the first ones after a new base mark are refused. */
    private static void updateOnceAdmitted(PalisadeClient client, Replica replica, String status) {
        Awaitility.await()
                .atMost(Duration.ofMinutes(1))
                .ignoreExceptionsInstanceOf(StatusRuntimeException.class)
                .until(() -> {
                    try (Lease lease = client.acquire("orders/42")) {
                        replica.update(lease, status);
                    }
                    return true;
                });
    }

    /** On a busy machine a replica may raise its marks above the grant, which is refused then; for no other reason. */
    private static Lease leaseThatApplied(PalisadeClient client, Replica replica, String status) {
        return Awaitility.await()
                .atMost(Duration.ofMinutes(1))
                .ignoreExceptionsMatching(e -> isUnavailable(e)
                        || (e instanceof StatusRuntimeException
                                && String.valueOf(e.getMessage()).contains("is older than this guard's base mark")))
                .until(
                        () -> {
                            Lease lease = client.acquire("orders/42");
                            try {
                                replica.update(lease, status);
                                return lease;
                            } catch (StatusRuntimeException e) {
                                lease.close();
                                throw e;
                            }
                        },
                        applied -> true);
    }

    private static boolean isUnavailable(Throwable failure) {
        return Status.fromThrowable(failure).getCode() == Status.Code.UNAVAILABLE;
    }

    private String registeredOwner() {
        return a.operations()
                .list("palisade/guards/")
                .flatMap(lock -> lock.holders().stream())
                .map(HolderInfo::owner)
                .findFirst()
                .orElse("nobody");
    }

    private List<String> applied() throws IOException {
        return Files.readAllLines(backend);
    }

    /** A writes at the first, B after it; then A, late, at the second. */
    private void lateWrite(Replica first, Replica second) throws InterruptedException {
        Lease old;
        try (Lease lease = leaseThatApplied(a, first, "a")) {
            old = lease;
        }
        try (Lease newer = leaseThatApplied(b, first, "b")) {
            assertThat(newer.token()).isGreaterThan(old.token());
            assertThat(refused(() -> first.update(old, "late at the first")).reason())
                    .isEqualTo(Reason.TOKEN_STALE);
            second.update(old, "late at the second");
        }
    }

    private static Rejection refused(org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        Rejection[] why = new Rejection[1];
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        StatusRuntimeException.class,
                        e -> why[0] = Rejections.ofThrowable(e).orElseThrow());
        return why[0];
    }

    /** What happens where guards do not register, and why they do. */
    @Test
    void unregisteredReplicasApplyALateWrite() throws IOException, InterruptedException {
        lateWrite(serving(directory("m1"), "--unregistered"), serving(directory("m2"), "--unregistered"));
        assertThat(applied()).containsExactly("a", "b", "late at the second");
    }

    @Test
    void secondReplicaWithMarksOfItsOwnIsRefusedAndNotServing() throws IOException {
        Replica first = serving(directory("m1"));
        Replica second = replica(directory("m2"));
        second.awaitHealth(ServingStatus.NOT_SERVING);
        Rejection why = refused(() -> lateWrite(first, second));
        assertThat(why.reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(why.message())
                .contains("another guard (", ") already protects 'example.Orders' with marks of its own");
        assertThat(why.metadata()).containsEntry(Rejection.APPLIED, "no");
        assertThat(applied()).containsExactly("a", "b");
        assertThat(first.health()).isEqualTo(ServingStatus.SERVING);
        assertThat(second.health()).isEqualTo(ServingStatus.NOT_SERVING);
    }

    @Test
    void killedReplicaServesWithTheSameMarksAtOnceAfterDelta() throws IOException, InterruptedException {
        Replica first = serving(directory("m1"));
        try (Lease lease = leaseThatApplied(a, first, "before")) {
            first.service().child().kill();
            long killed = System.nanoTime();
            Replica again = serving(directory("m1"));
            again.apply(lease, "after");
            assertThat(Duration.ofNanos(System.nanoTime() - killed)).isGreaterThan(DELTA);
        }
        assertThat(applied()).containsExactly("before", "after");
    }

    @Test
    void rollingUpdateOnSharedMarksRefusesTheOldReplica() throws Exception {
        String marks = database();
        Replica old = serving(marks);
        Lease former = leaseThatApplied(a, old, "old");
        Replica fresh = replica(marks);
        old.awaitHealth(ServingStatus.NOT_SERVING);
        fresh.awaitHealth(ServingStatus.SERVING);
        fresh.apply(former, "new");
        assertThat(refused(() -> old.update(former, "late")).message())
                .contains("another guard instance now owns these marks");
        former.close();
        assertThat(applied()).containsExactly("old", "new");
    }

    @Test
    void lockServerThatIsAwayStopsNoGuardThatItHasAnswered() throws IOException, InterruptedException {
        Replica first = serving(directory("m1"));
        Lease lease = leaseThatApplied(a, first, "before");
        locks.child().kill();
        first.apply(lease, "while it is away");
        Replica second = replica(directory("m2"));
        assertThat(second.health()).isEqualTo(ServingStatus.NOT_SERVING);
        locks = installation.server("--port", locks.port());
        first.apply(lease, "after");
        assertThat(second.health()).isEqualTo(ServingStatus.NOT_SERVING);
        assertThat(first.health()).isEqualTo(ServingStatus.SERVING);
        assertThat(applied()).containsExactly("before", "while it is away", "after");
    }

    /** Each has served while the other was down, with marks that know nothing of it. */
    @Test
    void replicasThatAlternateWithSeparateMarksRefuseALateWrite() throws IOException, InterruptedException {
        Replica first = serving(directory("m1"));
        Lease old;
        try (Lease lease = leaseThatApplied(a, first, "a")) {
            old = lease;
        }
        first.service().child().terminate();
        Replica second = serving(emptyDirectory("m2"));
        updateOnceAdmitted(b, second, "b");
        second.service().child().terminate();
        Replica again = serving(directory("m1"));
        assertThat(refused(() -> again.update(old, "late")).reason()).isEqualTo(Reason.TOKEN_STALE);
        updateOnceAdmitted(a, again, "a again");
        assertThat(applied()).containsExactly("a", "b", "a again");
    }

    /** Its registration lapses while it is paused, another serves and leaves, and it goes on where it stood. */
    @Test
    void replicaWhoseRegistrationLapsedRefusesALateWrite() throws IOException, InterruptedException {
        Replica first = serving(directory("m1"));
        String owner = registeredOwner();
        Lease old;
        try (Lease lease = leaseThatApplied(a, first, "a")) {
            old = lease;
        }
        first.service().child().pause();
        Replica second = serving(emptyDirectory("m2"));
        updateOnceAdmitted(b, second, "b");
        second.service().child().terminate();
        first.service().child().resume();
        Awaitility.await().atMost(Duration.ofMinutes(1)).until(this::registeredOwner, owner::equals);
        // Refused in one way or another while the marks are raised and until Δ is over; never applied.
        assertThat(refused(() -> first.update(old, "late")).metadata()).containsEntry(Rejection.APPLIED, "no");
        updateOnceAdmitted(a, first, "a again");
        assertThat(refused(() -> first.update(old, "late")).reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(applied()).containsExactly("a", "b", "a again");
    }
}
