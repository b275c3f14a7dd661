package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.ForceReleaseRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.redis.DefaultSignals;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Standard error is a pipe, and nobody reads it. */
class UnreadLogTest {
    private static final int HOLDERS_MAX = 2_000;
    /** More lines than the log's queue has places. */
    private static final int LOCKS = 3;

    private static final String LISTENING = "palisade server: listening on 127.0.0.1:";

    @TempDir
    Path home = Path.of("set by JUnit");

    private final List<Runnable> open = new ArrayList<>();

    @AfterEach
    void close() {
        open.forEach(Runnable::run);
    }

    @Test
    void aServerWhoseLogNobodyReadsGoesOnGrantingAndStopsWhenItIsTold() throws Exception {
        Process server = start();
        LocksGrpc.LocksFutureStub locks = LocksGrpc.newFutureStub(channel(server));
        String name = "x".repeat(250);
        for (int i = 0; i < LOCKS; i++) {
            holdAndForceRelease(locks, name + i, 1 + i * HOLDERS_MAX);
        }
        await("a pipe with something in it").until(() -> server.getErrorStream().available() > 0);
        assertThat(server.getErrorStream().available())
                .as("and no room for the rest")
                .isLessThan(LOCKS * HOLDERS_MAX * name.length());

        AcquireReply reply = locks.withDeadlineAfter(60, TimeUnit.SECONDS)
                .acquire(acquire("after", 1 + LOCKS * HOLDERS_MAX).build())
                .get();
        assertThat(reply.hasGranted()).isTrue();
        server.toHandle().destroy();
        assertThat(server.waitFor(60, TimeUnit.SECONDS)).as("ends").isTrue();
        assertThat(server.exitValue()).isZero();
    }

    private static void holdAndForceRelease(LocksGrpc.LocksFutureStub locks, String lock, int firstRequest)
            throws Exception {
        LocksGrpc.LocksFutureStub bounded = locks.withDeadlineAfter(60, TimeUnit.SECONDS);
        List<Future<AcquireReply>> asked = new ArrayList<>();
        for (int i = 0; i < HOLDERS_MAX; i++) {
            asked.add(bounded.acquire(
                    acquire(lock, firstRequest + i).setMode(Mode.SHARED).build()));
        }
        for (Future<AcquireReply> each : asked) {
            assertThat(each.get().hasGranted()).isTrue();
        }
        assertThat(bounded.forceRelease(ForceReleaseRequest.newBuilder()
                                .setLock(lock)
                                .setBy("ops")
                                .setWhy("nobody reads this")
                                .build())
                        .get()
                        .getReleased())
                .isEqualTo(HOLDERS_MAX);
    }

    private static AcquireRequest.Builder acquire(String lock, int request) {
        return AcquireRequest.newBuilder()
                .setLock(lock)
                .setMode(Mode.EXCLUSIVE)
                .setTtlMillis(300_000)
                .setRequestId(request)
                .setSessionId(ByteString.copyFrom(
                        ByteBuffer.allocate(16).putLong(7).putLong(7).flip()));
    }

    private Process start() throws IOException {
        List<String> line = List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xmx256m",
                "-cp",
                System.getProperty("java.class.path"),
                "dev.palisade.server.Main",
                "server",
                "--port",
                "0");
        ProcessBuilder builder = new ProcessBuilder(DefaultSignals.of(line, "TERM"));
        builder.environment().keySet().removeIf(each -> each.startsWith("PALISADE"));
        builder.environment().put("PALISADE_HOME", home.toString());
        Process process = builder.start();
        open.add(process::destroyForcibly);
        return process;
    }

    private ManagedChannel channel(Process server) throws IOException {
        BufferedReader out = server.inputReader(StandardCharsets.UTF_8);
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            if (line.startsWith(LISTENING)) {
                ManagedChannel channel = NettyChannelBuilder.forAddress(
                                "127.0.0.1", Integer.parseInt(line.substring(LISTENING.length())))
                        .usePlaintext()
                        .build();
                open.add(channel::shutdownNow);
                return channel;
            }
        }
        throw new AssertionError("never listened");
    }
}
