package dev.palisade.replicas;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.guard.MarkStore;
import dev.palisade.patience.PatientPostgres;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Three replicas as real processes with one register in a real PostgreSQL; the backend keeps the log of what it applied. */
@Execution(ExecutionMode.CONCURRENT)
class SharedRegisterIT {
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final List<Long> applied = new CopyOnWriteArrayList<>();
    private final EmbeddedPostgres postgres;
    private final ServerSocket backend;
    private final List<Child> replicas = new ArrayList<>();

    SharedRegisterIT() throws IOException {
        postgres = PatientPostgres.builder()
                .setServerConfig("synchronous_commit", "on")
                .start();
        backend = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    }

    @BeforeEach
    void start() {
        MarkStore.createTables(postgres.getPostgresDatabase());
        MarkStore.createNeverUsed(postgres.getPostgresDatabase());
        Thread thread = new Thread(this::serve, "backend");
        thread.setDaemon(true);
        thread.start();
        Stream.of("a", "b", "c").forEach(this::replica);
        replicas.forEach(replica -> replica.await("ready"::equals, PATIENCE));
    }

    @AfterEach
    void stop() throws IOException {
        replicas.forEach(Child::close);
        backend.close();
        postgres.close();
    }

    private void replica(String name) {
        replicas.add(Child.start(
                name,
                Child.java(
                        "-cp",
                        Installation.classPath(),
                        SharingProcess.class.getName(),
                        postgres.getJdbcUrl("postgres", "postgres"),
                        Integer.toString(backend.getLocalPort()),
                        "3000",
                        "3000"),
                Map.of()));
    }

    /** One call after the other, as they come: the order in the log is the order of their effects. */
    private void serve() {
        while (!backend.isClosed()) {
            try (Socket call = backend.accept();
                    BufferedReader in = new BufferedReader(
                            new InputStreamReader(call.getInputStream(), StandardCharsets.US_ASCII))) {
                applied.add(Long.valueOf(in.readLine()));
                call.getOutputStream().write('\n');
            } catch (IOException e) {
                // Closed, or a replica that was killed.
            }
        }
    }

    private static String ask(Child replica, String call) {
        replica.send(call);
        return replica.await(line -> line.startsWith("applied") || line.startsWith("refused"), PATIENCE);
    }

    private static boolean isOutOfTouch(String reply) {
        return reply.contains("MARK_UNAVAILABLE") || reply.contains("DRAINING");
    }

    /** On a busy machine a replica may be out of touch with its database for a moment, and then refuses. */
    private static String askUntilApplied(Child replica, String call) {
        long end = System.nanoTime() + PATIENCE.toNanos();
        String reply = ask(replica, call);
        while (isOutOfTouch(reply) && System.nanoTime() < end) {
            reply = ask(replica, call);
        }
        return reply;
    }

    /** Begins a call that stays inside; a replica that is out of touch is asked again. */
    private static void hold(Child replica, long token) {
        long end = System.nanoTime() + PATIENCE.toNanos();
        String inside = "in " + token;
        String reply;
        do {
            replica.send("hold " + token);
            reply = replica.await(line -> line.equals(inside) || line.startsWith("refused " + token), PATIENCE);
        } while (isOutOfTouch(reply) && System.nanoTime() < end);
        assertThat(reply).isEqualTo(inside);
    }

    private long number(String sql) throws SQLException {
        try (Connection connection = postgres.getPostgresDatabase().getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        }
    }

    @Test
    void replicasThatAreKilledOrStoppedLetNoLateWriteThrough() throws SQLException {
        Child a = replicas.get(0);
        Child b = replicas.get(1);
        Child c = replicas.get(2);
        assertThat(askUntilApplied(a, "write 33")).isEqualTo("applied 33");
        assertThat(askUntilApplied(b, "write 34")).isEqualTo("applied 34");
        replicas.forEach(each -> assertThat(ask(each, "write 33")).startsWith("refused 33 TOKEN_STALE"));

        hold(c, 35);
        c.kill();
        assertThat(number("SELECT COUNT(*) FROM palisade_register_calls")).isEqualTo(1);
        assertThat(askUntilApplied(b, "write 36"))
                .as("after the lease of c and Δ")
                .isEqualTo("applied 36");

        hold(a, 37);
        a.pause();
        assertThat(askUntilApplied(b, "write 38"))
                .as("after the lease of a and Δ")
                .isEqualTo("applied 38");
        a.resume();
        a.await("asked to stop 37"::equals, PATIENCE);
        a.send("go");
        a.await("stopped 37"::equals, PATIENCE);
        assertThat(ask(a, "write 39")).as("a was shut out").startsWith("refused 39 MARK_UNAVAILABLE");
        assertThat(askUntilApplied(b, "write 40")).isEqualTo("applied 40");
        assertThat(applied).containsExactly(33L, 34L, 36L, 38L, 40L);
    }

    @Test
    void replicaThatWasStoppedBeforeItsCallStartsDoesNotStartItLate() {
        Child a = replicas.get(0);
        Child b = replicas.get(1);
        hold(b, 33);
        a.send("write 34"); // Waits for 33.
        Awaitility.await()
                .atMost(PATIENCE)
                .until(() -> number("SELECT COUNT(*) FROM palisade_marks WHERE x_token = 34") == 1);
        a.pause();
        b.send("go");
        Awaitility.await().atMost(PATIENCE).until(() -> number("SELECT COUNT(*) FROM palisade_register_calls") == 0);
        assertThat(askUntilApplied(replicas.get(2), "write 35")).isEqualTo("applied 35");
        a.resume();
        String late = a.await(line -> line.startsWith("applied") || line.startsWith("refused"), PATIENCE);
        assertThat(late).startsWith("refused 34");
        assertThat(applied).endsWith(35L).doesNotContain(34L);
    }
}
