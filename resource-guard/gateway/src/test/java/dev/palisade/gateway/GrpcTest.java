package dev.palisade.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.RequestHeaders;
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
import io.grpc.stub.StreamObserver;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/** gRPC through the gateway, with grpc-java on both sides, judged by the log of the service. */
class GrpcTest {
    private static final Metadata.Key<String> ITEM = Metadata.Key.of("item", Metadata.ASCII_STRING_MARSHALLER);

    /** Stays behind: gateways are closed in the background. */
    @TempDir(cleanup = CleanupMode.NEVER)
    Path directory;

    private final TextService service = new TextService();
    private GatewayFixture gateway;
    private ManagedChannel channel;

    @BeforeEach
    void start() {
        gateway = new GatewayFixture(
                directory, service.address(), "http2", "30s", "lock-wait: 100ms", "unknown-outcome-timeout: 60s");
        channel = NettyChannelBuilder.forAddress("127.0.0.1", gateway.gateway.port())
                .usePlaintext()
                .build();
    }

    @AfterEach
    void stop() {
        channel.shutdownNow();
        gateway.close();
        service.close();
    }

    private Channel holder(long token) {
        return holder("1", token);
    }

    private Channel holder(String item, long token) {
        Metadata headers = new Metadata();
        headers.put(ITEM, item);
        SequencerHeader.put(headers, SignedSequencer.ofText(gateway.locks.exclusive("texts/" + item, token)));
        return with(headers);
    }

    private Channel with(Metadata headers) {
        return ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(headers));
    }

    /** A call that the guard admits, on a busy machine at the second or third try: a refused one was not forwarded. */
    private static String unary(Channel channel, String text) {
        return unless(EnumSet.of(Reason.DRAINING, Reason.MARK_UNAVAILABLE), channel, text);
    }

    private static String unless(Set<Reason> reasons, Channel channel, String text) {
        long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
        while (true) {
            try {
                return ClientCalls.blockingUnaryCall(channel, TextService.UNARY, CallOptions.DEFAULT, text);
            } catch (StatusRuntimeException e) {
                boolean again = Rejections.ofThrowable(e)
                        .filter(why -> reasons.contains(why.reason()))
                        .isPresent();
                if (!again || System.nanoTime() > end) {
                    throw e;
                }
            }
        }
    }

    /** Of a call that the guard admits. */
    private static StatusRuntimeException failure(Channel channel) {
        return catchThrowableOfType(StatusRuntimeException.class, () -> unary(channel, "x"));
    }

    /** Of a call that the guard refuses. */
    private static StatusRuntimeException refusal(Channel channel) {
        return catchThrowableOfType(
                StatusRuntimeException.class, () -> unless(EnumSet.of(Reason.MARK_UNAVAILABLE), channel, "x"));
    }

    /** A holder whose token is marked already: its next calls wait for no disk. */
    private Channel knownHolder(long token) {
        unary(holder(token), "first");
        service.log.clear();
        return holder(token);
    }

    private static Rejection rejection(Throwable failure) {
        return Rejections.ofThrowable(failure).orElseThrow(() -> new AssertionError("not refused", failure));
    }

    /** The replies to a call, in order, and last of all its status. */
    private static final class Replies implements StreamObserver<String> {
        private final List<String> texts = new CopyOnWriteArrayList<>();
        private final CompletableFuture<Status> end = new CompletableFuture<>();

        @Override
        public void onNext(String text) {
            texts.add(text);
        }

        @Override
        public void onError(Throwable failure) {
            error = failure;
            end.complete(Status.fromThrowable(failure));
        }

        private volatile Throwable error;

        @Override
        public void onCompleted() {
            end.complete(Status.OK);
        }
    }

    private static StreamObserver<String> stream(
            Channel channel, MethodDescriptor<String, String> method, Replies replies) {
        return ClientCalls.asyncBidiStreamingCall(channel.newCall(method, CallOptions.DEFAULT), replies);
    }

    private void assertQuarantined(Channel newerHolder) {
        StatusRuntimeException newer = refusal(newerHolder);
        assertThat(newer.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
        assertThat(rejection(newer).reason()).isEqualTo(Reason.DRAINING);
        assertThat(rejection(newer).metadata()).containsEntry(Rejection.APPLIED, "no");
    }

    @Test
    void allFourKindsOfCallsPass() {
        assertThat(unary(holder(7), "a")).isEqualTo("re a");
        assertThat(service.headers.get(0).keys()).contains("item").doesNotContain("sequencer-bin", "grpc-timeout");

        service.handler = (message, replies) -> {
            for (int i = 0; i < 100; i++) {
                replies.onNext(message + i);
            }
            replies.onCompleted();
        };
        List<String> down = new ArrayList<>();
        ClientCalls.blockingServerStreamingCall(holder(7), TextService.DOWNLOAD, CallOptions.DEFAULT, "d")
                .forEachRemaining(down::add);
        assertThat(down).hasSize(100).startsWith("d0").endsWith("d99");

        service.handler = (message, replies) -> {
            replies.onNext(message);
            if (!message.endsWith("!")) {
                replies.onCompleted();
            }
        };
        Replies up = new Replies();
        StreamObserver<String> upload = stream(holder(7), TextService.UPLOAD, up);
        List.of("one ", "two ", "three").forEach(upload::onNext);
        upload.onCompleted();
        assertThat(up.end.join().isOk()).isTrue();
        assertThat(up.texts).containsExactly("one two three");

        Replies chat = new Replies();
        StreamObserver<String> talk = stream(holder(7), TextService.CHAT, chat);
        for (int i = 1; i <= 3; i++) {
            talk.onNext(i + "!");
            int said = i;
            await().until(() -> chat.texts.size() == said);
        }
        talk.onNext("bye");
        talk.onCompleted();
        assertThat(chat.end.join().isOk()).isTrue();
        assertThat(chat.texts).containsExactly("1!", "2!", "3!", "1!2!3!bye");

        assertThat(unary(holder(8), "next holder")).as("all of them have ended").isNotNull();
    }

    @Test
    void staleTokenIsRefusedWithBothTokens() {
        unary(holder(34), "newer");
        StatusRuntimeException late = refusal(holder(33));
        assertThat(late.getStatus().getCode()).isEqualTo(Status.Code.ABORTED);
        assertThat(rejection(late).reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(rejection(late).metadata())
                .containsEntry(Rejection.PRESENTED_TOKEN, "33")
                .containsEntry(Rejection.MARK_TOKEN, "34")
                .containsEntry(Rejection.APPLIED, "no");
        assertThat(service.log).containsExactly("newer");
    }

    @Test
    void callWithoutSequencerLockOrRouteIsRefused() {
        Metadata item = new Metadata();
        item.put(ITEM, "1");
        assertThat(rejection(refusal(with(item))).reason()).isEqualTo(Reason.SEQUENCER_MISSING);

        Metadata sequencer = new Metadata();
        SequencerHeader.put(sequencer, SignedSequencer.ofText(gateway.locks.exclusive("texts/1", 7)));
        assertThat(rejection(refusal(with(sequencer))).reason()).isEqualTo(Reason.MALFORMED_REQUEST);

        sequencer.put(ITEM, "2");
        assertThat(rejection(refusal(with(sequencer))).reason()).isEqualTo(Reason.WRONG_RESOURCE);

        sequencer.put(SequencerHeader.KEY, new byte[] {1, 2, 3});
        assertThat(rejection(refusal(with(sequencer))).reason()).isEqualTo(Reason.SEQUENCER_INVALID);

        MethodDescriptor<String, String> unknown = TextService.UNARY.toBuilder()
                .setFullMethodName("test.Other/Unary")
                .build();
        StatusRuntimeException noRoute = catchThrowableOfType(
                StatusRuntimeException.class,
                () -> ClientCalls.blockingUnaryCall(holder(7), unknown, CallOptions.DEFAULT, "x"));
        assertThat(rejection(noRoute).reason()).isEqualTo(Reason.MALFORMED_REQUEST);
        assertThat(rejection(noRoute).message()).contains("no route");
        assertThat(service.log).isEmpty();
    }

    /** Libraries and proxies give the others, too, of calls whose handlers go on. */
    @Test
    void statusSaysWhetherTheCallHasEnded() {
        for (Status.Code code : EnumSet.complementOf(EnumSet.of(Status.Code.OK))) {
            service.handler = TextService.failing(code.toStatus().withDescription("50 % of " + code));
            Status status = failure(holder(code.name(), 33)).getStatus();
            assertThat(status.getCode()).isEqualTo(code);
            assertThat(status.getDescription()).isEqualTo("50 % of " + code);
            service.handler = TextService.failing(Status.ABORTED);
            Channel newer = holder(code.name(), 34);
            switch (code) {
                case CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, INTERNAL, UNAVAILABLE ->
                    assertQuarantined(newer);
                default -> assertThat(failure(newer).getStatus().getCode()).isEqualTo(Status.Code.ABORTED);
            }
        }
    }

    @Test
    void cancelReachesTheServiceAndLeavesTheOutcomeUnknown() {
        Channel holder = knownHolder(33);
        service.handler = (message, replies) -> {};
        Replies replies = new Replies();
        var call = holder.newCall(TextService.UNARY, CallOptions.DEFAULT);
        ClientCalls.asyncUnaryCall(call, "x", replies);
        await().until(() -> service.log.contains("x"));
        call.cancel("enough", null);
        await().until(() -> service.log.contains("cancelled"));
        assertQuarantined(holder(34));
    }

    @Test
    void deadlineReachesTheService() {
        unary(holder(33), "without");
        ClientCalls.blockingUnaryCall(
                knownHolder(33), TextService.UNARY, CallOptions.DEFAULT.withDeadlineAfter(1, TimeUnit.MINUTES), "with");
        assertThat(service.headers.get(0).keys()).doesNotContain("grpc-timeout");
        assertThat(service.headers.get(service.headers.size() - 1).keys()).contains("grpc-timeout");
    }

    /** A stopped holder's open stream keeps nobody out for longer than an unknown outcome does. */
    @Test
    void openStreamEndsWhenANewerGrantWaits() {
        Replies replies = new Replies();
        StreamObserver<String> stream = stream(knownHolder(33), TextService.CHAT, replies);
        stream.onNext("first");
        await().until(() -> service.log.contains("first"));
        assertQuarantined(holder(34));
        assertThat(replies.end.join().getCode()).isEqualTo(Status.Code.ABORTED);
        assertThat(rejection(replies.error).reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(rejection(replies.error).metadata()).containsEntry(Rejection.APPLIED, "unknown");
        await().until(() -> service.log.contains("cancelled"));
    }

    @Test
    void brokenServiceLeavesTheOutcomeUnknownInTheStatus() {
        Channel holder = knownHolder(33);
        service.handler = (message, replies) -> replies.onNext("begun");
        Replies replies = new Replies();
        StreamObserver<String> stream = stream(holder, TextService.CHAT, replies);
        stream.onNext("x!");
        await().until(() -> replies.texts.contains("begun"));
        service.close();
        assertThat(replies.end.join().getCode()).isEqualTo(Status.Code.UNKNOWN);
        assertThat(rejection(replies.error).reason()).isEqualTo(Reason.OUTCOME_UNKNOWN);
        assertThat(rejection(replies.error).metadata()).containsEntry(Rejection.APPLIED, "unknown");
        assertQuarantined(holder(34));
    }

    @Test
    void healthAndReflectionPassUnguarded() {
        for (String name : List.of(
                "grpc.health.v1.Health/Check",
                "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")) {
            MethodDescriptor<String, String> method =
                    TextService.UNARY.toBuilder().setFullMethodName(name).build();
            StatusRuntimeException answer = catchThrowableOfType(
                    StatusRuntimeException.class,
                    () -> ClientCalls.blockingUnaryCall(channel, method, CallOptions.DEFAULT, "x"));
            assertThat(answer.getStatus().getDescription())
                    .as("the service's own answer")
                    .startsWith("Method not found");
        }
    }

    @Test
    void stopWaitsForCallsAndRefusesNewOnes() {
        Replies replies = new Replies();
        StreamObserver<String> stream = stream(knownHolder(33), TextService.CHAT, replies);
        stream.onNext("first");
        await().until(() -> service.log.contains("first"));
        CompletableFuture<Boolean> stopped = CompletableFuture.supplyAsync(() -> {
            try {
                return gateway.gateway.stop();
            } catch (InterruptedException e) {
                return false;
            }
        });
        await().until(() -> refusal(holder(33)).getStatus().getCode() == Status.Code.UNAVAILABLE);
        stream.onNext("second");
        stream.onCompleted();
        assertThat(replies.end.join().isOk()).isTrue();
        assertThat(replies.texts).containsExactly("re firstsecond");
        assertThat(stopped.join()).isTrue();
    }

    @Test
    void deadlineIsForwardedAsWhatIsLeft() {
        GrpcCall call = new GrpcCall(RequestHeaders.of(HttpMethod.POST, "/test.Texts/Unary", "grpc-timeout", "100m"));
        assertThat(call.timeLeft().orElseThrow()).isLessThanOrEqualTo(Duration.ofMillis(100));
        await().until(() -> call.timeLeft().orElseThrow().isZero());
        assertThat(call.forwarded(RequestHeaders.of(HttpMethod.POST, "/test.Texts/Unary", "grpc-timeout", "100m"))
                        .get("grpc-timeout"))
                .isEqualTo("0n");
        assertThat(GrpcDeadline.text(0)).isEqualTo("0n");
        assertThat(GrpcDeadline.text(99_999_999)).isEqualTo("99999999n");
        assertThat(GrpcDeadline.text(100_000_999)).isEqualTo("100000u");
        assertThat(GrpcDeadline.text(Duration.ofMinutes(5).toNanos())).isEqualTo("300000m");
        assertThat(GrpcDeadline.text(Duration.ofHours(100).toNanos())).isEqualTo("360000S");
        assertThat(GrpcDeadline.text(Long.MAX_VALUE)).isEqualTo("99999999S");
    }
}
