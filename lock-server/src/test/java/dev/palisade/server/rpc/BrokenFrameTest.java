package dev.palisade.server.rpc;

import static dev.palisade.server.rpc.Served.acquire;
import static dev.palisade.server.rpc.Served.rejection;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.Reason;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.Hello;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.MemoryStore;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Messages that are not protobuf, on streams and in unary calls. */
class BrokenFrameTest {
    private static final byte[] GARBAGE = {-1, -1, -1, -1, -1, -1, -1, -1};

    private Served served;

    @BeforeEach
    void serve(@TempDir Path directory) throws Exception {
        served = new Served(directory);
    }

    @AfterEach
    void stop() {
        served.close();
    }

    @Test
    void brokenFrameEndsItsStreamAndLeavesNoSession() {
        for (int i = 1; i <= 20; i++) {
            Raw stream = new Raw(i);
            await().until(() -> served.engine.sessions("", 100).sessions().size() == 1);
            stream.send(GARBAGE);
            assertThat(rejection(stream.failure()).reason()).isEqualTo(Reason.MALFORMED_REQUEST);
            await().untilAsserted(() ->
                    assertThat(served.engine.sessions("", 100).sessions()).isEmpty());
        }
        assertThat(served.rpc.streamsOfNobody()).isZero();
    }

    /** And not after its ttl, which is ten times as long. */
    @Test
    void brokenFrameFreesTheLocksOfItsSessionAfterTheGrace() {
        Raw stream = new Raw(1);
        stream.send(ClientFrame.newBuilder()
                .addCalls(Call.newBuilder().setCallId(1).setAcquire(acquire("a", 1, 0)))
                .build()
                .toByteArray());
        await().until(() -> holders() == 1);
        stream.send(GARBAGE);
        await().atMost(Duration.ofMillis(5 * Served.GRACE_MILLIS)).until(() -> holders() == 0);
    }

    private int holders() {
        return served.unary()
                .describe(DescribeRequest.newBuilder().setLock("a").build())
                .getHoldersTotal();
    }

    @Test
    void brokenFirstFrameLeavesNothing() {
        Raw stream = new Raw();
        await().until(() -> served.rpc.streamsOfNobody() == 1);
        stream.send(GARBAGE);
        assertThat(rejection(stream.failure()).reason()).isEqualTo(Reason.MALFORMED_REQUEST);
        await().until(() -> served.rpc.streamsOfNobody() == 0);
    }

    @Test
    void brokenUnaryRequestIsRefusedWithErrorInfo() {
        MethodDescriptor<byte[], byte[]> method = raw(LocksGrpc.getAcquireMethod());
        Throwable failure = catchThrowable(
                () -> ClientCalls.blockingUnaryCall(served.channel, method, CallOptions.DEFAULT, GARBAGE));
        assertThat(rejection(failure).reason()).isEqualTo(Reason.MALFORMED_REQUEST);
        assertThat(rejection(failure).message())
                .startsWith("a message of palisade.v1.Locks/Acquire is not valid protobuf (");
        assertThat(((StatusRuntimeException) failure).getStatus().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
        assertThat(served.events).anyMatch(line -> line.startsWith("event=refused reason=MALFORMED_REQUEST"));
    }

    /** A bug of ours: gRPC then closes the call by itself, and cancels nothing. */
    @Test
    void unforeseenFailureInACallbackLeavesNoSession() throws Exception {
        AtomicBoolean fails = new AtomicBoolean();
        MemoryStore memory = new MemoryStore();
        LockStore failing = (LockStore) Proxy.newProxyInstance(
                LockStore.class.getClassLoader(), new Class<?>[] {LockStore.class}, (proxy, method, arguments) -> {
                    if (fails.get() && method.getName().equals("together")) {
                        throw new IllegalStateException("a bug");
                    }
                    return method.invoke(memory, arguments);
                });
        try (Served other = new Served(failing)) {
            Served.Stream stream = other.stream(1, 1);
            await().until(() -> !stream.frames.isEmpty());
            fails.set(true);
            stream.send(ClientFrame.newBuilder());
            stream.failure();
            await().untilAsserted(() ->
                    assertThat(other.engine.sessions("", 100).sessions()).isEmpty());
        }
    }

    private static <Q, R> MethodDescriptor<byte[], byte[]> raw(MethodDescriptor<Q, R> method) {
        return method.toBuilder(new Bytes(), new Bytes()).build();
    }

    private record Bytes() implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** A session stream whose client sends bytes. */
    private final class Raw extends ClientCall.Listener<byte[]> {
        private final CompletableFuture<Throwable> ended = new CompletableFuture<>();
        private final ClientCall<byte[], byte[]> call =
                served.channel.newCall(raw(LocksGrpc.getSessionMethod()), CallOptions.DEFAULT);

        Raw() {
            call.start(this, new Metadata());
            call.request(100);
        }

        Raw(long session) {
            this();
            send(ClientFrame.newBuilder()
                    .setHello(Hello.newBuilder()
                            .setSessionId(Served.session(session))
                            .setSessionGen(1)
                            .setOwner("raw"))
                    .build()
                    .toByteArray());
        }

        void send(byte[] frame) {
            call.sendMessage(frame);
        }

        Throwable failure() {
            return Served.get(ended);
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            ended.complete(status.asRuntimeException(trailers));
        }
    }
}
