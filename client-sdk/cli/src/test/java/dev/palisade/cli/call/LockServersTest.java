package dev.palisade.cli.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.LocksGrpc;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Against servers on loopback that do what the test says. */
@Timeout(60)
class LockServersTest {
    private static final String REFUSES = "127.0.0.1:1";
    private static final Duration LONG = Duration.ofMinutes(10);

    private final List<Server> servers = new ArrayList<>();

    @AfterEach
    void stop() {
        servers.forEach(Server::shutdownNow);
    }

    /** @param reasons of its first replies; then it describes */
    private String server(Reason... reasons) throws IOException {
        return server(Stream.of(reasons)
                .map(reason -> new Rejection(reason, "scripted"))
                .toArray(Rejection[]::new));
    }

    /** @param active address of the active server; empty if it is not known */
    private String standby(String active) throws IOException {
        Rejection[] always = new Rejection[100];
        Arrays.fill(always, new Rejection(Reason.NOT_ACTIVE, "scripted", Map.of(Rejection.ACTIVE, active)));
        return server(always);
    }

    private String server(Rejection[] rejections) throws IOException {
        AtomicInteger calls = new AtomicInteger();
        Server server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
                .addService(new LocksGrpc.LocksImplBase() {
                    @Override
                    public void describe(DescribeRequest request, StreamObserver<DescribeReply> out) {
                        int call = calls.getAndIncrement();
                        if (call < rejections.length) {
                            out.onError(Rejections.toStatus(rejections[call]));
                            return;
                        }
                        out.onNext(DescribeReply.newBuilder()
                                .setLock(request.getLock())
                                .setWaitersTotal(call)
                                .build());
                        out.onCompleted();
                    }
                })
                .build()
                .start();
        servers.add(server);
        return "127.0.0.1:" + server.getPort();
    }

    private static DescribeReply describe(String addresses, Duration timeout) throws Failed {
        try (LockServers servers =
                new LockServers(addresses, InsecureChannelCredentials.create(), timeout, RetryClock.SYSTEM)) {
            return servers.reach("x");
        }
    }

    private static void fails(String addresses, Duration timeout, int exitCode, String message) {
        assertThatExceptionOfType(Failed.class)
                .isThrownBy(() -> describe(addresses, timeout))
                .withMessageContaining(message)
                .extracting(Failed::exitCode)
                .isEqualTo(exitCode);
    }

    @Test
    void nextServerIsAskedWhenOneRefusesTheConnection() throws Exception {
        assertThat(describe(REFUSES + "," + server(), LONG).getLock()).isEqualTo("x");
    }

    @Test
    void eachServerIsAskedOnceAndTheSilentAreNamed() throws Exception {
        String first = server();
        String second = server(Reason.PERMISSION_DENIED);
        String third = server();
        String standby = standby(third);
        String mute = standby("");
        DescribeRequest request = DescribeRequest.newBuilder().setLock("x").build();
        try (LockServers servers = new LockServers(
                String.join(",", REFUSES, first, second, third, standby, mute),
                InsecureChannelCredentials.create(),
                LONG,
                RetryClock.SYSTEM)) {
            LockServers.Replies<DescribeReply> all = servers.callEach(stub -> stub.describe(request));
            assertThat(all.replies()).extracting(DescribeReply::getWaitersTotal).containsExactly(0, 0);
            assertThat(all.missing())
                    .containsExactly(
                            "the lock server at " + second + " did not reply",
                            "the lock server at " + standby + " is a standby of " + third,
                            "the lock server at " + mute + " is a standby",
                            "the lock server at " + REFUSES + " did not reply");
            assertThat(servers.call(stub -> stub.describe(request)).getWaitersTotal())
                    .as("the one that replied is asked next")
                    .isEqualTo(1);
        }
    }

    @Test
    void refusedConnectionsEndTheCallWithoutTheTimeout() {
        fails(REFUSES, LONG, 3, "no reply from the lock server at 127.0.0.1:1 (connection refused)");
        fails(REFUSES + ",127.0.0.1:2", LONG, 3, "127.0.0.1:1: connection refused, 127.0.0.1:2: connection refused");
    }

    @Test
    void silentServerIsGivenUpInTimeForTheNext() throws Exception {
        try (ServerSocket silent = new ServerSocket(0)) {
            String address = "127.0.0.1:" + silent.getLocalPort();
            assertThat(describe(address + "," + server(), Duration.ofSeconds(4)).getLock())
                    .isEqualTo("x");
            fails(address, Duration.ofMillis(300), 3, "no reply from the lock server at " + address + " (timed out)");
        }
    }

    @Test
    void rejectionByTheServerHasItsOwnExitCodeAndReason() throws Exception {
        String address = server(Reason.SEQUENCER_INVALID);
        assertThatExceptionOfType(Failed.class)
                .isThrownBy(() -> describe(address, LONG))
                .withMessage("SEQUENCER_INVALID: scripted")
                .satisfies(failed -> assertThat(failed.exitCode()).isEqualTo(5))
                .satisfies(failed -> assertThat(failed.reason()).isEqualTo("SEQUENCER_INVALID"));
    }

    @Test
    void serverThatCannotDecideIsAskedAgainUntilTheTimeout() throws Exception {
        assertThat(describe(server(Reason.STORE_UNAVAILABLE, Reason.RECOVERING), LONG)
                        .getWaitersTotal())
                .isEqualTo(2);
        Reason[] always = new Reason[1_000];
        Arrays.fill(always, Reason.RECOVERING);
        fails(server(always), Duration.ofSeconds(2), 3, "cannot decide now: RECOVERING: scripted");
    }

    @Test
    void serversThatReplyButCannotDecideAreReportedAsSuch() throws Exception {
        Reason[] always = new Reason[1_000];
        Arrays.fill(always, Reason.STORE_UNAVAILABLE);
        String active = server(always);
        String standby = standby(active);
        fails(
                active + "," + standby,
                Duration.ofSeconds(2),
                3,
                "no lock server can decide now (" + active + ": STORE_UNAVAILABLE: scripted, " + standby
                        + ": NOT_ACTIVE: it is a standby of " + active + ")");
    }

    @Test
    void standbysOfServerThatWasNotGivenEndTheCallAtOnce() throws Exception {
        String one = standby("lock-3:7600");
        String other = standby("lock-3:7600");
        assertThat(failureWithoutRetry(one))
                .isEqualTo("--server names standbys only (" + one + "); add the active lock server: lock-3:7600");
        assertThat(failureWithoutRetry(one + "," + other))
                .isEqualTo("--server names standbys only (" + one + ", " + other
                        + "); add the active lock server: lock-3:7600");
    }

    /** One of the servers that were given may become active. */
    @Test
    void takeoverIsWaitedForWhereTheActiveServerMayHaveStopped() throws Exception {
        for (String addresses :
                List.of(standby(""), REFUSES + "," + standby("lock-3:7600"), standby(REFUSES) + "," + REFUSES)) {
            assertThat(failureWithoutRetry(addresses)).isEqualTo("interrupted while waiting for the lock server");
            assertThat(onlyStandbys(addresses)).isEmpty();
        }
    }

    @Test
    void runLearnsWhetherAllServersAreStandbys() throws Exception {
        String standby = standby("lock-3:7600");
        assertThat(onlyStandbys(standby)).contains(failureWithoutRetry(standby));
        assertThat(onlyStandbys(standby + "," + server())).isEmpty();
        assertThat(onlyStandbys(standby + "," + server(Reason.PERMISSION_DENIED)))
                .isEmpty();
    }

    private static Optional<String> onlyStandbys(String addresses) throws Failed {
        try (LockServers servers =
                new LockServers(addresses, InsecureChannelCredentials.create(), LONG, RetryClock.SYSTEM)) {
            return servers.onlyStandbys("x");
        }
    }

    /** Instead of a pause before the second attempt the call is interrupted. */
    private static String failureWithoutRetry(String addresses) throws Exception {
        RetryClock interrupts = new RetryClock() {
            @Override
            public long nanos() {
                return System.nanoTime();
            }

            @Override
            public void pause(long millis) throws InterruptedException {
                throw new InterruptedException();
            }
        };
        try (LockServers servers = new LockServers(addresses, InsecureChannelCredentials.create(), LONG, interrupts)) {
            return catchThrowableOfType(Failed.class, () -> servers.reach("x")).message();
        } finally {
            boolean ignored = Thread.interrupted();
        }
    }

    /** The first connection is closed, and the attempts after it get no reply until the timeout. */
    @Test
    void earlierCauseIsNamedWhenTheLastAttemptHasNoReply() throws Exception {
        try (ServerSocket socket = new ServerSocket(0)) {
            Thread server = new Thread(() -> {
                try {
                    socket.accept().close();
                } catch (IOException e) {
                    // The call then says that it was not.
                }
            });
            server.setDaemon(true);
            server.start();
            fails("127.0.0.1:" + socket.getLocalPort(), Duration.ofSeconds(4), 3, "closed the connection");
        }
    }

    @Test
    void bytesThatAreNoReplyAreReported() throws Exception {
        try (ServerSocket foreign = new ServerSocket(0)) {
            Thread web = new Thread(() -> {
                while (!foreign.isClosed()) {
                    try (Socket caller = foreign.accept()) {
                        caller.getOutputStream()
                                .write("HTTP/1.1 400 Bad Request\r\n\r\n"
                                        .repeat(10)
                                        .getBytes(StandardCharsets.US_ASCII));
                        caller.getInputStream().read(new byte[1_000]);
                    } catch (IOException e) {
                        // Closed at the end of the test, or by the caller.
                    }
                }
            });
            web.setDaemon(true);
            web.start();
            fails("127.0.0.1:" + foreign.getLocalPort(), Duration.ofSeconds(2), 3, "no reply from the lock server at");
        }
    }

    @Test
    void wrongAddressIsMisuse() {
        for (String wrong : List.of("here", "x:y", "127.0.0.1:7600,", ":7600")) {
            fails(wrong, LONG, 2, "is not host:port");
        }
    }
}
