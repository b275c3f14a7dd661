package dev.palisade.server.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.proto.v1.AcceptRequest;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.LeaveRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.server.tracing.ServerTracing;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanId;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.testing.junit5.OpenTelemetryExtension;
import io.opentelemetry.sdk.trace.data.EventData;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Spans of acquires at the server, by what clients of any language send. */
class AcquireTraceTest {
    @RegisterExtension
    static final OpenTelemetryExtension TELEMETRY = OpenTelemetryExtension.create();

    private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
    private static final String PARENT = "00f067aa0ba902b7";
    private static final String TRACEPARENT = "00-" + TRACE + "-" + PARENT + "-01";

    private Served served;
    private Served.Stream stream;

    @BeforeEach
    void serve(@TempDir Path folder) throws Exception {
        served = new Served(folder);
        served.rpc.trace(new ServerTracing(TELEMETRY.getOpenTelemetry()));
        stream = served.stream(1, 1);
    }

    @AfterEach
    void close() throws Exception {
        served.close();
    }

    private static Call.Builder acquire(String lock, long request, long waitMillis) {
        return Call.newBuilder().setTraceparent(TRACEPARENT).setAcquire(Served.acquire(lock, request, waitMillis));
    }

    private Call.Builder release(Granted granted) {
        return Call.newBuilder()
                .setRelease(ReleaseRequest.newBuilder()
                        .setLock(granted.getLock())
                        .setGrantId(granted.getGrantId())
                        .setToken(granted.getToken()));
    }

    /** The span of the only acquire of {@code lock}, when it has ended. */
    private static SpanData span(String lock) {
        return await().until(
                        () -> TELEMETRY.getSpans().stream()
                                .filter(span ->
                                        lock.equals(span.getAttributes().get(AttributeKey.stringKey("palisade.lock"))))
                                .findFirst()
                                .orElse(null),
                        Objects::nonNull);
    }

    private static @Nullable String outcome(SpanData span) {
        return span.getAttributes().get(AttributeKey.stringKey("palisade.outcome"));
    }

    private static @Nullable Long token(SpanData span) {
        return span.getAttributes().get(AttributeKey.longKey("palisade.token"));
    }

    @Test
    void aGrantIsASpanOfItsCallersTrace() {
        Granted granted = stream.ask(acquire("a", 1, 0)).getAcquire().getGranted();
        SpanData span = span("a");
        assertThat(span.getName()).isEqualTo("palisade.acquire");
        assertThat(span.getKind()).isEqualTo(SpanKind.SERVER);
        assertThat(span.getTraceId()).isEqualTo(TRACE);
        assertThat(span.getParentSpanId()).isEqualTo(PARENT);
        assertThat(outcome(span)).isEqualTo("granted");
        assertThat(token(span)).isEqualTo(granted.getToken());
        assertThat(span.getEvents()).isEmpty();
        assertThat(stream.ask(acquire("b", 2, 0)).getAcquire().hasGranted()).isTrue();
        Served.Stream other = served.stream(2, 1);
        assertThat(other.ask(acquire("a", 1, 0)).getAcquire().hasBusy()).isTrue();
        assertThat(TELEMETRY.getSpans())
                .extracting(AcquireTraceTest::outcome)
                .containsExactlyInAnyOrder("granted", "granted", "busy");
    }

    @Test
    void malformedContextsCountAsNone() {
        List<String> contexts = List.of(
                "",
                "x",
                TRACEPARENT.replace("-01", ""),
                "00-" + "0".repeat(32) + "-" + PARENT + "-01",
                "ff-" + TRACE + "-" + PARENT + "-01",
                TRACEPARENT + "-" + "x".repeat(AcquireTracer.TRACEPARENT_CHARS_MAX),
                "\u00e9\n\u0000",
                "y".repeat(100_000));
        for (int i = 0; i < contexts.size(); i++) {
            String lock = "malformed/" + i;
            assertThat(stream.ask(acquire(lock, i + 1, 0).setTraceparent(contexts.get(i)))
                            .getAcquire()
                            .hasGranted())
                    .isTrue();
            assertThat(span(lock).getParentSpanId()).as("context %s", i).isEqualTo(SpanId.getInvalid());
        }
    }

    /** As an agent that traces each call of gRPC: the span of a stream would be the parent of all its acquires. */
    @Test
    void theSpanOfAStreamIsNoParent() {
        ServerTracing tracing = new ServerTracing(TELEMETRY.getOpenTelemetry());
        Span current = TELEMETRY
                .getOpenTelemetry()
                .getTracer("agent")
                .spanBuilder("call")
                .startSpan();
        try (Scope scope = current.makeCurrent()) {
            assertThat(scope).isNotNull();
            for (AcquireTracer.Transport transport : AcquireTracer.Transport.values()) {
                tracing.acquiring(new LockName(transport.name()), Mode.EXCLUSIVE, transport, "")
                        .ended(AcquireTracer.Ending.BUSY);
            }
        }
        assertThat(span("STREAM").getParentSpanId()).isEqualTo(SpanId.getInvalid());
        assertThat(span("UNARY").getParentSpanId())
                .isEqualTo(current.getSpanContext().getSpanId());
    }

    @Test
    void aWaitHasItsEventsAndItsEnd() {
        Served.Stream holder = served.stream(2, 1);
        Granted held =
                holder.ask(acquire("a", 1, 0).clearTraceparent()).getAcquire().getGranted();
        TELEMETRY.clearSpans();
        assertThat(stream.ask(acquire("a", 7, 60_000)).getAcquire().hasQueued()).isTrue();
        assertThat(stream.ask(acquire("a", 7, 60_000)).getAcquire().hasQueued()).isTrue();
        assertThat(holder.ask(release(held)).hasRelease()).isTrue();
        await().until(() -> !stream.events.isEmpty());
        Granted offer = stream.events.get(0).getOffered().getGranted();
        assertThat(TELEMETRY.getSpans()).as("before the accept").isEmpty();
        assertThat(stream.ask(Call.newBuilder()
                                .setAccept(AcceptRequest.newBuilder()
                                        .setLock("a")
                                        .setGrantId(offer.getGrantId())
                                        .setToken(offer.getToken())))
                        .getAccept()
                        .hasGranted())
                .isTrue();
        SpanData span = span("a");
        assertThat(span.getParentSpanId()).isEqualTo(PARENT);
        assertThat(span.getEvents()).extracting(EventData::getName).containsExactly("queued", "queued", "offered");
        assertThat(token(span)).isEqualTo(offer.getToken());
        assertThat(TELEMETRY.getSpans()).as("one span of a repeated acquire").hasSize(1);
    }

    @Test
    void whatEndsWithoutALeaseSaysHow() throws Exception {
        Served.Stream holder = served.stream(2, 1);
        for (String lock : List.of("left", "timed-out", "broken", "declined")) {
            Granted held = holder.ask(acquire(lock, 1, 0)).getAcquire().getGranted();
            TELEMETRY.clearSpans();
            long wait = lock.equals("timed-out") ? 1 : 60_000;
            assertThat(stream.ask(acquire(lock, 1, wait)).getAcquire().hasQueued())
                    .isTrue();
            switch (lock) {
                case "left" ->
                    stream.ask(Call.newBuilder()
                            .setLeave(LeaveRequest.newBuilder().setLock(lock).setRequestId(1)));
                case "declined" -> {
                    int before = stream.events.size();
                    holder.ask(release(held));
                    await().until(() -> stream.events.size() > before);
                    stream.ask(release(stream.events.get(before).getOffered().getGranted()));
                }
                case "broken" -> {
                    stream.out.cancel("the client is gone", null);
                    stream = served.stream(3, 1);
                }
                default -> {}
            }
            assertThat(outcome(span(lock)))
                    .isEqualTo(
                            switch (lock) {
                                case "timed-out" -> "timed_out";
                                case "broken" -> "disconnected";
                                default -> "left";
                            });
        }
    }

    @Test
    void aRefusalIsAFailedSpan() {
        assertThat(stream.ask(acquire("a", 1, -1)).hasRejected()).isTrue();
        SpanData span = span("a");
        assertThat(span.getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
        assertThat(span.getStatus().getDescription()).contains("wait_millis");
        assertThat(span.getAttributes().get(AttributeKey.stringKey("palisade.reason")))
                .isEqualTo("MALFORMED_REQUEST");
        assertThat(stream.ask(acquire("\n", 1, 0)).hasRejected()).isTrue();
        assertThat(TELEMETRY.getSpans()).as("no lock has that name").hasSize(1);
    }

    @Test
    void aUnaryCallHasItsContextInTheHeader() throws Exception {
        Metadata headers = new Metadata();
        headers.put(Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER), TRACEPARENT);
        LocksGrpc.LocksBlockingStub traced =
                served.unary().withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
        ByteString session = Served.session(9);
        Granted held = served.unary()
                .acquire(Served.acquire("a", 1, 0).setSessionId(session).build())
                .getGranted();
        assertThat(span("a").getParentSpanId()).isEqualTo(SpanId.getInvalid());
        TELEMETRY.clearSpans();
        Future<AcquireReply> waiting = LocksGrpc.newFutureStub(traced.getChannel())
                .acquire(Served.acquire("a", 2, 60_000)
                        .setSessionId(Served.session(10))
                        .build());
        await().until(() -> stream.ask(Call.newBuilder()
                                .setDescribe(dev.palisade.proto.v1.DescribeRequest.newBuilder()
                                        .setLock("a")))
                        .getDescribe()
                        .getWaitersTotal()
                == 1);
        var unused = served.unary()
                .release(release(held).getRelease().toBuilder()
                        .setSessionId(session)
                        .build());
        assertThat(waiting.get().getGranted().getToken()).isEqualTo(token(span("a")));
        assertThat(span("a").getParentSpanId()).isEqualTo(PARENT);
        assertThat(span("a").getEvents()).extracting(EventData::getName).containsExactly("queued", "offered");
        assertThatThrownBy(() -> traced.acquire(
                        Served.acquire("b", 1, -1).setSessionId(session).build()))
                .isInstanceOf(StatusRuntimeException.class);
    }
}
