package dev.palisade.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.linecorp.armeria.client.WebClient;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpRequestWriter;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.RequestHeadersBuilder;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.contract.grpc.SequencerHeader;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Locks that fields of gRPC messages name, judged by the bytes that the service gets. */
class GrpcMessageLockTest {
    private static final String ROUTES = """
            routes:
              - path: /shop.Orders/Ship
                lock: "lines/{message.item.code}/{message.item.count}/{message.item.line}"
              - path: /shop.Orders/Upload
                lock: "orders/{header.order}"
              - path: /shop.Orders/{method}
                lock: "orders/{message.id}"
            """;

    private static final int ENOUGH = 100;

    /** Stays behind: gateways are closed in the background. */
    @TempDir(cleanup = CleanupMode.NEVER)
    Path directory;

    private final OrderService service = new OrderService();
    private GatewayFixture gateway;
    private ManagedChannel channel;

    @BeforeEach
    void start() throws IOException {
        restart("30s", "", ENOUGH);
    }

    /** Twice in one test only with another one's marks. */
    private void restart(String idleTimeout, String more, int requestsMax) throws IOException {
        Path home = Files.createTempDirectory(directory, "gateway");
        Files.write(home.resolve("orders.desc"), OrderService.descriptorSet());
        close();
        gateway = GatewayFixture.bounded(
                home,
                "upstream:\n  addresses: " + service.address() + "\n  protocol: http2\n  idle-timeout: " + idleTimeout
                        + "\n  descriptors: orders.desc\n" + more + ROUTES,
                requestsMax);
        channel = NettyChannelBuilder.forAddress("127.0.0.1", gateway.gateway.port())
                .usePlaintext()
                .build();
    }

    private void close() {
        if (gateway != null) {
            channel.shutdownNow();
            gateway.close();
        }
    }

    @AfterEach
    void stop() {
        close();
        service.close();
    }

    private Channel holder(String lock, long token) {
        Metadata headers = new Metadata();
        SequencerHeader.put(headers, SignedSequencer.ofText(gateway.locks.exclusive(lock, token)));
        // Another name in a header plays no part.
        headers.put(Metadata.Key.of("id", Metadata.ASCII_STRING_MARSHALLER), "other");
        headers.put(Metadata.Key.of("order", Metadata.ASCII_STRING_MARSHALLER), "other");
        return ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(headers));
    }

    /** A call that the guard admits, on a busy machine at the second or third try. */
    private static void call(Channel channel, MethodDescriptor<byte[], byte[]> method, byte[] message) {
        unless(EnumSet.of(Reason.MARK_UNAVAILABLE), channel, method, message);
    }

    private static void unless(
            Set<Reason> reasons, Channel channel, MethodDescriptor<byte[], byte[]> method, byte[] message) {
        long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
        while (true) {
            try {
                ClientCalls.blockingUnaryCall(channel, method, CallOptions.DEFAULT, message);
                return;
            } catch (StatusRuntimeException e) {
                if (!reasons.contains(rejection(e).reason()) || System.nanoTime() > end) {
                    throw e;
                }
            }
        }
    }

    private static Rejection rejection(Throwable failure) {
        return Rejections.ofThrowable(failure).orElseThrow(() -> new AssertionError("not refused", failure));
    }

    private static Rejection refusal(Channel channel, MethodDescriptor<byte[], byte[]> method, byte[] message) {
        return rejection(catchThrowableOfType(StatusRuntimeException.class, () -> call(channel, method, message)));
    }

    /** A field of protobuf's wire format: number, and text or message. */
    private static byte[] field(int number, byte[] value) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.write(number << 3 | 2);
        int left = value.length;
        while (left > 0x7f) {
            bytes.write((left & 0x7f) | 0x80);
            left >>>= 7;
        }
        bytes.write(left);
        bytes.writeBytes(value);
        return bytes.toByteArray();
    }

    private static byte[] field(int number, String value) {
        return field(number, value.getBytes(StandardCharsets.UTF_8));
    }

    /** A field of protobuf's wire format: number, and an integer below 128, or -1. */
    private static byte[] field(int number, int value) {
        byte[] minusOne = {(byte) (number << 3), -1, -1, -1, -1, -1, -1, -1, -1, -1, 1};
        return value < 0 ? minusOne : new byte[] {(byte) (number << 3), (byte) value};
    }

    private static byte[] join(byte[]... parts) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            bytes.writeBytes(part);
        }
        return bytes.toByteArray();
    }

    @Test
    void lockIsTheOneThatTheMessageNames() {
        byte[] message = join(field(3, "tag"), field(1, "42"), field(4, new byte[] {0, 1, 2}), field(77, "unknown"));
        call(holder("orders/42", 33), OrderService.PAY, message);
        assertThat(service.log).containsExactly(message);
        assertThat(refusal(holder("orders/other", 33), OrderService.PAY, message)
                        .reason())
                .isEqualTo(Reason.WRONG_RESOURCE);
        call(holder("orders/42", 34), OrderService.WATCH, message);
        Rejection late = refusal(holder("orders/42", 33), OrderService.PAY, message);
        assertThat(late.reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(late.metadata()).containsEntry(Rejection.APPLIED, "no");
        assertThat(service.log).hasSize(2);
    }

    @Test
    void nestedFieldsAndIntegersNameALock() {
        byte[] item = join(field(1, "a b"), field(2, -1), field(3, 0));
        call(holder("lines/a b/18446744073709551615/0", 33), OrderService.SHIP, field(2, item));
        byte[] negative = join(field(1, "x"), field(2, 7), field(3, -1));
        call(holder("lines/x/7/-1", 33), OrderService.SHIP, field(2, negative));
        assertThat(service.log).hasSize(2);
    }

    /** So the service reads it, and so it is written. */
    @Test
    void ofSeveralOccurrencesTheLastNamesTheLock() {
        byte[] twice = join(field(1, "42"), field(1, "43"));
        assertThat(refusal(holder("orders/42", 33), OrderService.PAY, twice).reason())
                .isEqualTo(Reason.WRONG_RESOURCE);
        call(holder("orders/43", 33), OrderService.PAY, twice);
        // Occurrences of a message are one message.
        byte[] parts = join(
                field(2, join(field(1, "x"), field(3, 1))), field(2, join(field(2, 7))), field(2, join(field(3, 2))));
        call(holder("lines/x/7/2", 33), OrderService.SHIP, parts);
        assertThat(service.log).containsExactly(twice, parts);
    }

    @Test
    void messageThatNamesNoLockIsRefusedInOneLine() {
        Channel holder = holder("orders/42", 33);
        for (byte[] message : new byte[][] {{}, field(1, ""), join(field(1, "42"), field(1, "")), field(1, 5)}) {
            Rejection missing = refusal(holder, OrderService.PAY, message);
            assertThat(missing.reason()).isEqualTo(Reason.MALFORMED_REQUEST);
            assertThat(missing.message())
                    .isEqualTo("the message's field 'id' names the lock and is missing or empty; set it. Nothing was"
                            + " forwarded");
        }
        byte[] zero = field(2, join(field(1, "x"), field(2, 0), field(3, 0)));
        assertThat(refusal(holder, OrderService.SHIP, zero).message()).contains("'item.count'");
        byte[] noLine = field(2, join(field(1, "x"), field(2, 1)));
        assertThat(refusal(holder, OrderService.SHIP, noLine).message()).contains("'item.line'");
        assertThat(refusal(holder, OrderService.SHIP, field(1, "42")).message()).contains("'item.code'");
        assertThat(refusal(holder, OrderService.PAY, field(1, new byte[] {'4', -1}))
                        .message())
                .contains("is no UTF-8");
        assertThat(refusal(holder, OrderService.PAY, new byte[] {10, 5, '4'}).message())
                .contains("no valid protobuf message");
        assertThat(refusal(holder, OrderService.PAY, field(1, "a\nb")).reason()).isEqualTo(Reason.MALFORMED_REQUEST);
        assertThat(service.log).isEmpty();
        Status status = catchThrowableOfType(
                        StatusRuntimeException.class, () -> call(holder, OrderService.PAY, new byte[0]))
                .getStatus();
        assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    }

    @Test
    void largeMessageArrivesWholeAndTheNextOneTooLargeIsRefused() {
        byte[] large = join(field(4, new byte[UnaryMessage.BYTES_MAX - 100]), field(1, "42"));
        for (int i = 0; i < 3; i++) {
            call(holder("orders/42", 33), OrderService.PAY, large);
        }
        assertThat(service.log).containsExactly(large, large, large);
        Rejection tooLarge = refusal(holder("orders/42", 33), OrderService.PAY, join(large, field(4, new byte[200])));
        assertThat(tooLarge.reason()).isEqualTo(Reason.MALFORMED_REQUEST);
        assertThat(tooLarge.message()).contains("at most 4194304 are read");
    }

    /** A message that is held counts as several requests, until its call has ended. */
    @Test
    void messagesBeyondTheMemoryAreRefusedUntilOthersHaveEnded() throws IOException {
        restart("30s", "", 5);
        Set<Reason> freed = EnumSet.of(Reason.MARK_UNAVAILABLE, Reason.LIMIT_EXCEEDED);
        byte[] fits = join(field(4, new byte[2_000_000]), field(1, "42"));
        for (int i = 0; i < 3; i++) {
            unless(freed, holder("orders/42", 33), OrderService.PAY, fits);
        }
        byte[] large = join(field(4, new byte[3_000_000]), field(1, "42"));
        assertThat(refusal(holder("orders/42", 33), OrderService.PAY, large).reason())
                .isEqualTo(Reason.LIMIT_EXCEEDED);
        unless(freed, holder("orders/42", 33), OrderService.PAY, fits);
        assertThat(service.log).containsExactly(fits, fits, fits, fits);
    }

    private RequestHeaders raw(String contentType) {
        return rawBuilder(contentType).build();
    }

    private RequestHeadersBuilder rawBuilder(String contentType) {
        return RequestHeaders.builder(HttpMethod.POST, "/shop.Orders/Pay")
                .add("content-type", contentType)
                .add("te", "trailers")
                .add(
                        "sequencer-bin",
                        Base64.getEncoder()
                                .encodeToString(SignedSequencer.ofText(gateway.locks.exclusive("orders/42", 33))
                                        .toBytes()));
    }

    private WebClient client() {
        return WebClient.builder("h2c://127.0.0.1:" + gateway.gateway.port())
                .responseTimeout(Duration.ofMinutes(1))
                .build();
    }

    private static byte[] frame(int flag, int length, byte[] rest) {
        return ByteBuffer.allocate(5 + rest.length)
                .put((byte) flag)
                .putInt(length)
                .put(rest)
                .array();
    }

    private static void assertRefused(AggregatedHttpResponse response, String why) {
        assertThat(response.trailers().getInt("grpc-status", response.headers().getInt("grpc-status", -1)))
                .isEqualTo(Status.Code.INVALID_ARGUMENT.value());
        assertThat(response.trailers().get("grpc-message", "")
                        + response.headers().get("grpc-message", ""))
                .contains(why);
    }

    @ParameterizedTest
    @CsvSource({
        "0, 4, 5, breaks off after 4 of 5 bytes",
        "0, 4, 3, of 3 bytes is followed by more",
        "0, 4, 0, of 0 bytes is followed by more",
        "0, 4, 4194305, has 4194305 bytes",
        "0, 4, -1, has 4294967295 bytes",
        "1, 4, 4, is compressed",
        "2, 4, 4, begins with the byte 2",
        "-1, 4, 4, begins with the byte 255"
    })
    void wrongFirstFrameGetsAStatus(int flag, int bytes, int length, String why) {
        byte[] message = field(1, "42");
        assertThat(message).hasSize(bytes);
        AggregatedHttpResponse response = client().execute(raw("application/grpc"), frame(flag, length, message))
                .aggregate()
                .join();
        assertRefused(response, why);
        assertThat(service.log).isEmpty();
    }

    @Test
    void bodyThatIsNoFrameGetsAStatus() {
        assertRefused(
                client().execute(raw("application/grpc"), new byte[0])
                        .aggregate()
                        .join(),
                "is missing");
        assertRefused(
                client().execute(raw("application/grpc"), new byte[] {0, 0, 0})
                        .aggregate()
                        .join(),
                "breaks off after 3 bytes");
        byte[] frame = frame(0, 4, field(1, "42"));
        assertRefused(
                client().execute(raw("application/grpc+json"), frame)
                        .aggregate()
                        .join(),
                "only protobuf is read");
        assertRefused(
                client().execute(
                                rawBuilder("application/grpc")
                                        .add("content-encoding", "gzip")
                                        .build(),
                                frame)
                        .aggregate()
                        .join(),
                "without content-encoding");
        assertThat(client().execute(raw("text/plain"), frame).aggregate().join().contentUtf8())
                .contains("only protobuf is read");
        assertThat(service.log).isEmpty();
        assertThat(client().execute(raw("application/grpc+proto"), frame)
                        .aggregate()
                        .join()
                        .trailers()
                        .getInt("grpc-status", -1))
                .as("the same one, in order")
                .isZero();
        assertThat(service.log).containsExactly(field(1, "42"));
    }

    @Test
    void messageThatDoesNotComeIsRefusedAfterTheIdleTimeout() throws IOException {
        restart("1s", "", ENOUGH);
        HttpRequestWriter open = HttpRequest.streaming(raw("application/grpc"));
        var response = client().execute(open).aggregate().orTimeout(1, TimeUnit.MINUTES);
        open.write(HttpData.wrap(frame(0, 100, field(1, "42"))));
        assertRefused(response.join(), "did not arrive whole");
        assertThat(service.log).isEmpty();
    }

    @Test
    void cancelWhileTheMessageComesLeavesNothingBehind() {
        HttpRequestWriter open = HttpRequest.streaming(raw("application/grpc"));
        var response = client().execute(open);
        open.write(HttpData.wrap(frame(0, 100, field(1, "42"))));
        response.abort();
        call(holder("orders/42", 34), OrderService.PAY, field(1, "42"));
        assertThat(service.log).containsExactly(field(1, "42"));
    }

    @Test
    void methodWithoutADescriptorIsRefused() {
        MethodDescriptor<byte[], byte[]> unknown = OrderService.PAY.toBuilder()
                .setFullMethodName("shop.Orders/Newer")
                .build();
        Rejection refused = refusal(holder("orders/42", 33), unknown, field(1, "42"));
        assertThat(refused.reason()).isEqualTo(Reason.MALFORMED_REQUEST);
        assertThat(refused.message()).contains("no descriptor of method /shop.Orders/Newer");
    }

    @Test
    void callWithoutSequencerIsRefusedBeforeItsMessageIsRead() {
        Rejection refused = refusal(channel, OrderService.PAY, new byte[0]);
        assertThat(refused.reason()).isEqualTo(Reason.SEQUENCER_MISSING);
        assertThat(refused.message()).endsWith(" (lock 'orders/{message.id}')");
    }

    @Test
    void guardThatOnlyObservesForwardsWhatItCannotRead() throws IOException {
        restart("30s", "observe-only: true\n", ENOUGH);
        byte[] tooLarge = field(4, new byte[UnaryMessage.BYTES_MAX - 10]);
        Channel holder = holder("orders/42", 33);
        for (byte[] message : new byte[][] {{}, tooLarge, field(1, "43")}) {
            call(holder, OrderService.PAY, message);
        }
        assertThat(service.log).containsExactly(new byte[0], tooLarge, field(1, "43"));
    }
}
