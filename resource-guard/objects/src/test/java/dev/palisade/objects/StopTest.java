package dev.palisade.objects;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.palisade.contract.Mode;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.grants.Grants;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.proto.v1.PutObjectReply;
import dev.palisade.proto.v1.PutObjectRequest;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.h2.tools.Server;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** SIGTERM of the command, in a process of its own, while something is under way. */
class StopTest {
    @TempDir
    Path home = Path.of("set by JUnit");

    /** The put has begun and its content is still being sent; nothing here depends on who is faster. */
    @Test
    void aPutThatIsUnderWayIsAnsweredAfterHealthHasSaidNo() throws Exception {
        try (ObjectsProcess process = ObjectsProcess.launch(home, "--port", "0", "--drain", "1m")) {
            ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", process.port())
                    .usePlaintext()
                    .build();
            try {
                CompletableFuture<PutObjectReply> answer = new CompletableFuture<>();
                ClientCall<PutObjectRequest, PutObjectReply> put = begin(channel, answer);
                // On the same connection and behind the put: once it is answered, the put has arrived.
                Iterator<HealthCheckResponse> health = HealthGrpc.newBlockingStub(channel)
                        .withDeadlineAfter(60, TimeUnit.SECONDS)
                        .watch(HealthCheckRequest.newBuilder()
                                .setService("palisade.v1.Objects")
                                .build());
                assertThat(health.next().getStatus()).isEqualTo(ServingStatus.SERVING);

                CompletableFuture<ObjectsProcess.Ended> ended = CompletableFuture.supplyAsync(() -> stop(process));
                assertThat(health.next().getStatus()).isEqualTo(ServingStatus.NOT_SERVING);
                assertThat(answer).isNotDone();
                put.sendMessage(PutObjectRequest.newBuilder()
                        .setKey("orders/42")
                        .setContent(ByteString.copyFromUtf8("late, and in time"))
                        .build());
                put.halfClose();

                assertThat(answer.get(60, TimeUnit.SECONDS).getApplied()).isTrue();
                assertThat(ended.get(60, TimeUnit.SECONDS).code()).isZero();
                assertThat(ended.join().err()).isEmpty();
                assertThat(ended.join().out()).endsWith("palisade objects: stopped");
            } finally {
                channel.shutdownNow();
            }
        }
    }

    @Test
    void aDatabaseThatDoesNotAnswerKeepsNobodyFromStopping() throws Exception {
        Server database = Server.createTcpServer(
                        "-tcpPort",
                        "0",
                        "-ifNotExists",
                        "-baseDir",
                        home.resolve("h2").toString())
                .start();
        try (Freezer between = new Freezer(database.getPort());
                ObjectsProcess process = ObjectsProcess.launch(
                        home,
                        "--port",
                        "0",
                        "--drain",
                        "1s",
                        "--jdbc-url",
                        "jdbc:h2:tcp://127.0.0.1:" + between.port() + "/./objects")) {
            process.port();
            between.freeze();
            long asked = System.nanoTime();
            ObjectsProcess.Ended ended = process.stop();
            assertThat(ended.code()).isZero();
            assertThat(ended.err()).last().asString().contains("could not be closed within 1000 ms");
            assertThat(Duration.ofNanos(System.nanoTime() - asked))
                    .as("less than the pool would wait")
                    .isLessThan(Duration.ofSeconds(9));
        } finally {
            database.stop();
        }
    }

    private ClientCall<PutObjectRequest, PutObjectReply> begin(
            ManagedChannel channel, CompletableFuture<PutObjectReply> answer) throws IOException {
        KeysetFile keys = KeysetFile.open(home.resolve("keys/sequencers.json"));
        Metadata headers = new Metadata();
        SequencerHeader.put(headers, keys.sign(Grants.sequencer(Grants.ISSUER, "orders/42", Mode.EXCLUSIVE, 34, 1)));
        ClientCall<PutObjectRequest, PutObjectReply> put =
                channel.newCall(ObjectsGrpc.getPutMethod(), CallOptions.DEFAULT);
        put.start(
                new ClientCall.Listener<>() {
                    @Override
                    public void onMessage(PutObjectReply reply) {
                        answer.complete(reply);
                    }

                    @Override
                    public void onClose(Status status, Metadata trailers) {
                        if (!status.isOk()) {
                            answer.completeExceptionally(status.asRuntimeException());
                        }
                    }
                },
                headers);
        put.request(2);
        return put;
    }

    private static ObjectsProcess.Ended stop(ObjectsProcess process) {
        try {
            return process.stop();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Between a client and a server on this machine, until it passes nothing on any more. */
    private static final class Freezer implements AutoCloseable {
        private final ServerSocket front = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private boolean frozen;

        Freezer(int back) throws IOException {
            daemon(() -> {
                while (true) {
                    Socket client = front.accept();
                    Socket server = new Socket(InetAddress.getLoopbackAddress(), back);
                    daemon(() -> pass(client.getInputStream(), server.getOutputStream()));
                    daemon(() -> pass(server.getInputStream(), client.getOutputStream()));
                }
            });
        }

        int port() {
            return front.getLocalPort();
        }

        synchronized void freeze() {
            frozen = true;
        }

        private synchronized boolean isFrozen() {
            return frozen;
        }

        private void pass(InputStream from, OutputStream to) throws IOException {
            byte[] some = new byte[8_192];
            for (int length = from.read(some); length >= 0; length = from.read(some)) {
                if (!isFrozen()) {
                    to.write(some, 0, length);
                }
            }
        }

        private interface Work {
            void run() throws IOException;
        }

        private static void daemon(Work work) {
            Thread thread = new Thread(() -> {
                try {
                    work.run();
                } catch (IOException e) {
                    // Somebody closed.
                }
            });
            thread.setDaemon(true);
            thread.start();
        }

        @Override
        public void close() throws IOException {
            front.close();
        }
    }
}
