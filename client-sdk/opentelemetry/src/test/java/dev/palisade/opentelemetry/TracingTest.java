package dev.palisade.opentelemetry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.FakePalisade;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import dev.palisade.guard.grpc.GuardInterceptor;
import dev.palisade.proto.v1.DeleteObjectReply;
import dev.palisade.proto.v1.DeleteObjectRequest;
import dev.palisade.proto.v1.ObjectsGrpc;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.StatusRuntimeException;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.testing.junit5.OpenTelemetryExtension;
import io.opentelemetry.sdk.trace.data.EventData;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Spans of a client and of a guard in front of a gRPC service, in one trace. */
class TracingTest {
    @RegisterExtension
    static final OpenTelemetryExtension TELEMETRY = OpenTelemetryExtension.create();

    private final FakePalisade fake = FakePalisade.start();
    private final PalisadeClient palisade = fake.client("orders");
    private Guard guard;
    private Server server;
    private ManagedChannel channel;

    @BeforeEach
    void serve(@TempDir Path marks) throws Exception {
        palisade.observe(new ClientTracing(TELEMETRY.getOpenTelemetry()));
        MarkStore.createNeverUsed(marks.resolve("marks"));
        guard = Guard.builder(fake.verifier(), MarkStore.file(marks.resolve("marks")))
                .build();
        GuardTracing tracing = new GuardTracing(TELEMETRY.getOpenTelemetry());
        guard.observe(tracing);
        ObjectsGrpc.ObjectsImplBase objects = new ObjectsGrpc.ObjectsImplBase() {
            @Override
            public void delete(DeleteObjectRequest request, StreamObserver<DeleteObjectReply> reply) {
                reply.onNext(DeleteObjectReply.getDefaultInstance());
                reply.onCompleted();
            }
        };
        GuardInterceptor guarding = GuardInterceptor.of(guard, ObjectsGrpc.getServiceDescriptor());
        String name = InProcessServerBuilder.generateName();
        server = InProcessServerBuilder.forName(name)
                .addService(ServerInterceptors.interceptForward(objects, tracing.callerContext(), guarding))
                .build()
                .start();
        channel = InProcessChannelBuilder.forName(name).build();
    }

    @AfterEach
    void close() throws Exception {
        channel.shutdownNow();
        server.shutdownNow().awaitTermination();
        guard.close();
        fake.close();
    }

    private void delete(Channel through) {
        ObjectsGrpc.newBlockingStub(through)
                .withInterceptors(new Inject())
                .delete(DeleteObjectRequest.newBuilder().setKey("orders/1").build());
    }

    private void delete(Lease lease) {
        delete(ClientInterceptors.intercept(channel, lease.interceptor()));
    }

    /** What an instrumentation of gRPC does at a client. */
    private static final class Inject implements ClientInterceptor {
        @Override
        public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
            return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
                @Override
                public void start(Listener<R> listener, Metadata headers) {
                    W3CTraceContextPropagator.getInstance()
                            .inject(Context.current(), headers, (carrier, key, value) -> {
                                if (carrier != null) {
                                    carrier.put(Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER), value);
                                }
                            });
                    super.start(listener, headers);
                }
            };
        }
    }

    private static SpanData span(String name) {
        return TELEMETRY.getSpans().stream()
                .filter(span -> span.getName().equals(name))
                .reduce((first, second) -> second)
                .orElseThrow();
    }

    private static Span request() {
        return TELEMETRY
                .getOpenTelemetry()
                .getTracer("test")
                .spanBuilder("request")
                .startSpan();
    }

    @Test
    void acquireAndGuardedCallAreOneTrace() throws Exception {
        Span request = request();
        try (Scope scope = request.makeCurrent();
                Lease lease = palisade.acquire("orders/1")) {
            assertThat(scope).isNotNull();
            delete(lease);
            SpanData acquire = span("palisade.acquire");
            SpanData guarded = span("palisade.guard");
            String trace = request.getSpanContext().getTraceId();
            assertThat(acquire.getTraceId()).isEqualTo(trace);
            assertThat(guarded.getTraceId()).isEqualTo(trace);
            assertThat(acquire.getParentSpanId())
                    .isEqualTo(request.getSpanContext().getSpanId());
            assertThat(guarded.getParentSpanId())
                    .isEqualTo(request.getSpanContext().getSpanId());
            assertThat(acquire.getAttributes().get(SpanAttributes.LOCK)).isEqualTo("orders/1");
            assertThat(acquire.getAttributes().get(SpanAttributes.OUTCOME)).isEqualTo("granted");
            assertThat(guarded.getAttributes().get(SpanAttributes.LOCK)).isEqualTo("orders/1");
            assertThat(guarded.getAttributes().get(SpanAttributes.OUTCOME)).isEqualTo("admitted");
            assertThat(acquire.getAttributes().get(SpanAttributes.TOKEN))
                    .isEqualTo(lease.token().value())
                    .isEqualTo(guarded.getAttributes().get(SpanAttributes.TOKEN));
        }
        request.end();
    }

    @Test
    void waitAndOfferAreEventsOfTheAcquire() throws Exception {
        Lease held = fake.hold("orders/1");
        CompletableFuture<AcquireResult> waiting =
                palisade.acquireAsync("orders/1", AcquireOptions.waiting(Duration.ofMinutes(1)));
        fake.advance(Duration.ofSeconds(1));
        assertThat(TELEMETRY.getSpans()).isEmpty();
        held.close();
        fake.advance(Duration.ofSeconds(1));
        assertThat(waiting).isDone();
        assertThat(span("palisade.acquire").getEvents())
                .extracting(EventData::getName)
                .containsExactly("queued", "offered");
    }

    @Test
    void aBusyLockIsNoErrorAndAnUnreachableServerIsOne() throws Exception {
        Lease held = fake.hold("orders/1");
        palisade.tryAcquire("orders/1");
        SpanData busy = span("palisade.acquire");
        assertThat(busy.getAttributes().get(SpanAttributes.OUTCOME)).isEqualTo("busy");
        assertThat(busy.getStatus().getStatusCode()).isEqualTo(StatusCode.UNSET);
        held.close();

        fake.stopServer();
        palisade.tryAcquire("orders/1");
        SpanData unavailable = span("palisade.acquire");
        assertThat(unavailable.getAttributes().get(SpanAttributes.OUTCOME)).isEqualTo("unavailable");
        assertThat(unavailable.getAttributes().get(SpanAttributes.REASON)).isEqualTo("STORE_UNAVAILABLE");
        assertThat(unavailable.getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
    }

    @Test
    void aStaleCallIsAFailedSpanWithItsTokens() throws Exception {
        Lease stale = palisade.acquire("orders/1");
        stale.close();
        Lease newer = palisade.acquire("orders/1");
        delete(newer);
        assertThatThrownBy(() -> delete(stale)).isInstanceOf(StatusRuntimeException.class);

        SpanData refused = span("palisade.guard");
        assertThat(refused.getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
        assertThat(refused.getAttributes().get(SpanAttributes.REASON)).isEqualTo("TOKEN_STALE");
        assertThat(refused.getAttributes().get(SpanAttributes.TOKEN))
                .isEqualTo(stale.token().value());
        assertThat(refused.getAttributes().get(SpanAttributes.MARK))
                .isEqualTo(newer.token().value());
        newer.close();
    }

    @Test
    void aCallWithoutASequencerIsAFailedSpanToo() {
        assertThatThrownBy(() -> delete(channel)).isInstanceOf(StatusRuntimeException.class);
        assertThat(span("palisade.guard").getAttributes().get(SpanAttributes.REASON))
                .isEqualTo("SEQUENCER_MISSING");
    }

    @Test
    void aHostileTraceContextIsIgnored() throws Exception {
        try (Lease lease = palisade.acquire("orders/1")) {
            for (String hostile : new String[] {"00-zz", "", "00-" + "0".repeat(32) + "-1-01", "f".repeat(4_000)}) {
                Metadata headers = new Metadata();
                headers.put(Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER), hostile);
                ObjectsGrpc.newBlockingStub(channel)
                        .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers), lease.interceptor())
                        .delete(DeleteObjectRequest.newBuilder()
                                .setKey("orders/1")
                                .build());
                assertThat(span("palisade.guard").getParentSpanContext().isValid())
                        .isFalse();
            }
        }
    }

    @Test
    void tracesOfAClientNeedNoGuardAndTheReverse() throws Exception {
        Path classes = Path.of(ClientTracing.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        try (Stream<Path> files = Files.walk(classes)) {
            for (Path file :
                    files.filter(each -> each.toString().endsWith(".class")).toList()) {
                String name = file.getFileName().toString();
                String references = Files.readString(file, StandardCharsets.ISO_8859_1);
                assertThat(references.contains("dev/palisade/guard/"))
                        .as(name + " knows the guard")
                        .isEqualTo(name.startsWith("GuardTracing"));
                assertThat(references.contains("dev/palisade/client/"))
                        .as(name + " knows the client")
                        .isEqualTo(name.startsWith("ClientTracing"));
            }
        }
    }
}
