package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.LocksGrpc;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What one hostile client does to the process of a lock server, and what others feel. */
class HostileInputTest {
    private static final String LISTENING = "palisade server: listening on 127.0.0.1:";
    /** In full stack traces some 12 MB; a pipe takes 64 kB. */
    private static final int BROKEN_CALLS = 2_000;

    private static final int OPEN_FILES = 400;

    @TempDir
    Path home = Path.of("set by JUnit");

    private final List<Runnable> open = new ArrayList<>();

    @AfterEach
    void close() {
        open.forEach(Runnable::run);
    }

    @Test
    void brokenProtobufIsServedWhileStandardErrorIsAFullPipe() throws Exception {
        Process server = start("");
        ManagedChannel hostile = channel(port(server));
        for (int i = 0; i < BROKEN_CALLS; i++) {
            assertThat(brokenCall(hostile).getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
        }
        assertThat(server.getErrorStream().available()).as("ten lines a second").isLessThan(BROKEN_CALLS * 30);
    }

    @Test
    void idleConnectionsUpToTheLimitOfOpenFilesKeepNobodyOut() throws Exception {
        Process server = start("ulimit -n " + OPEN_FILES + "; ");
        int port = port(server);
        for (int i = 0; i < OPEN_FILES + 100; i++) {
            Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
            open.add(() -> {
                try {
                    socket.close();
                } catch (IOException e) {
                    throw new java.io.UncheckedIOException(e);
                }
            });
        }
        // Behind a burst, a connection may be refused while the idle ones are still on their way out: it comes again.
        LocksGrpc.newBlockingStub(channel(port))
                .withWaitForReady()
                .withDeadlineAfter(60, TimeUnit.SECONDS)
                .describe(DescribeRequest.newBuilder().setLock("a").build());
        await().untilAsserted(() -> assertThat(files(server))
                .as("descriptors that the journal may need stay free")
                .isLessThan(OPEN_FILES - ConnectionLimit.DESCRIPTORS_RESERVED / 2));
    }

    private static long files(Process server) throws IOException {
        try (Stream<Path> files = Files.list(Path.of("/proc/" + server.pid() + "/fd"))) {
            return files.count();
        }
    }

    private static Status brokenCall(ManagedChannel channel) {
        MethodDescriptor<byte[], InputStream> method = LocksGrpc.getAcquireMethod().toBuilder(
                        new MethodDescriptor.Marshaller<byte[]>() {
                            @Override
                            public InputStream stream(byte[] value) {
                                return new ByteArrayInputStream(value);
                            }

                            @Override
                            public byte[] parse(InputStream stream) {
                                throw new UnsupportedOperationException();
                            }
                        },
                        new MethodDescriptor.Marshaller<InputStream>() {
                            @Override
                            public InputStream stream(InputStream value) {
                                return value;
                            }

                            @Override
                            public InputStream parse(InputStream stream) {
                                return stream;
                            }
                        })
                .build();
        try {
            ClientCalls.blockingUnaryCall(
                    channel, method, CallOptions.DEFAULT.withDeadlineAfter(60, TimeUnit.SECONDS), new byte[] {
                        -1, -1, -1, -1
                    });
            throw new AssertionError("answered");
        } catch (StatusRuntimeException e) {
            return e.getStatus();
        }
    }

    private Process start(String first) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                "sh",
                "-c",
                first + "exec \"$0\" \"$@\"",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-Xmx256m",
                "-cp",
                System.getProperty("java.class.path"),
                "dev.palisade.server.Main",
                "server",
                "--port",
                "0");
        builder.environment().keySet().removeIf(each -> each.startsWith("PALISADE"));
        builder.environment().put("PALISADE_HOME", home.toString());
        Process process = builder.start();
        open.add(process::destroyForcibly);
        return process;
    }

    private static int port(Process server) throws IOException {
        BufferedReader out = server.inputReader(StandardCharsets.UTF_8);
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            if (line.startsWith(LISTENING)) {
                return Integer.parseInt(line.substring(LISTENING.length()));
            }
        }
        throw new AssertionError("never listened");
    }

    private ManagedChannel channel(int port) {
        ManagedChannel channel =
                NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build();
        open.add(channel::shutdownNow);
        return channel;
    }
}
