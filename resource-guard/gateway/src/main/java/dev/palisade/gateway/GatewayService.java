package dev.palisade.gateway;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpHeaders;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpRequestDuplicator;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.util.Exceptions;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceOptions;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.ClientVerification;
import dev.palisade.gateway.RouteTable.Guarding;
import dev.palisade.guard.Access;
import dev.palisade.guard.Admission;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Check;
import dev.palisade.guard.Guard;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decision about each request: finds its route, waits for the guard without holding a thread, and only then forwards
 * it. Nothing of a request reaches the service before the guard has admitted it.
 */
final class GatewayService implements HttpService {
    private static final Logger LOG = LoggerFactory.getLogger(GatewayService.class);

    private static final Rejection STOPPING =
            new Rejection(Reason.STORE_UNAVAILABLE, "the gateway is stopping; nothing was forwarded: try again");

    /**
     * Between a response and the reset of its stream, while the client still sends the body: some clients lose a response that a reset
     * follows at once. What arrives is discarded, and the stream counts among those of its connection.
     */
    private static final ServiceOptions OPTIONS =
            ServiceOptions.builder().closeHttp2StreamDelayMillis(1_000).build();

    private final GatewayConfig config;
    private final MessageLocks messageLocks;
    private final @Nullable ClientVerification clients;
    private final Guard guard;
    private final UpstreamPool upstream;
    private final ClientConnections connections;
    private final RunningRequests requests;
    private volatile boolean draining;

    /** @param clients null: in plaintext */
    GatewayService(
            GatewayConfig config,
            MessageLocks messageLocks,
            @Nullable ClientVerification clients,
            Guard guard,
            UpstreamPool upstream,
            ClientConnections connections,
            RunningRequests requests) {
        this.config = config;
        this.messageLocks = messageLocks;
        this.clients = clients;
        this.guard = guard;
        this.upstream = upstream;
        this.connections = connections;
        this.requests = requests;
    }

    /** Refuses every request from now on; those that run go on. */
    void drain() {
        draining = true;
    }

    @Override
    public ServiceOptions options() {
        return OPTIONS;
    }

    @Override
    public HttpResponse serve(ServiceRequestContext context, HttpRequest request) {
        RequestHeaders headers = request.headers();
        boolean http2 = context.sessionProtocol().isMultiplex();
        // Trailers are not checked, and a service may merge them into the headers. Http1Check drops those of HTTP/1.1.
        HttpRequest checked = http2 ? request.mapTrailers(trailers -> HttpHeaders.of()) : request;
        Incoming call = new Incoming(context, checked, HttpResponse.streaming(), CallProtocol.of(headers, http2));
        if (draining) {
            call.refuse(call.protocol().refusal(STOPPING));
            return call.reply();
        }
        Optional<String> stranger = clients == null ? Optional.empty() : clients.refusal(context.sslSession());
        if (stranger.isPresent()) {
            Rejection refusal = new Rejection(Reason.MALFORMED_REQUEST, stranger.get() + "; nothing was forwarded");
            call.refuse(call.protocol().refusal(HttpStatus.FORBIDDEN, refusal));
            return call.reply();
        }
        Optional<Http1Check.Refusal> broken = http2 ? Optional.empty() : Http1Check.refusal(headers);
        if (broken.isPresent()) {
            call.refuse(
                    call.protocol().refusal(broken.get().status(), broken.get().rejection()));
            return call.reply();
        }
        if (!requests.enter(1)) {
            call.refuse(call.protocol().refusal(requests.refusal()));
            return call.reply();
        }
        connections.began(context.remoteAddress());
        var unused = call.reply().whenComplete().handle((done, failure) -> {
            connections.ended(context.remoteAddress());
            requests.leave(1);
            return null;
        });
        try {
            RequestPath target = RequestPath.of(context.rawPath());
            ForwardedHeaders.refuseOverrides(headers);
            refuseUnsupported(headers, http2);
            Optional<Guarding> found = config.routes().find(headers, target);
            if (found.isEmpty()) {
                refuseOrObserve(call, HttpStatus.NOT_FOUND, noRoute(headers, target, guard.observesOnly()));
            } else if (found.get().readsMessage()) {
                enterByMessage(call, found.get(), target);
            } else {
                enter(call, found.get(), target);
            }
        } catch (RejectedException e) {
            refuseOrObserve(call, e.rejection());
        }
        return call.reply();
    }

    /** A request that has arrived, and the response to be written. */
    private record Incoming(
            ServiceRequestContext context, HttpRequest request, HttpResponseWriter reply, CallProtocol protocol) {
        void refuse(AggregatedHttpResponse refusal) {
            if (Http1Check.waitsForContinue(request.headers())) {
                var unused =
                        context.initiateConnectionShutdown(); // Its body, which may come or not, is no next request.
            }
            Exchange.write(reply, refusal);
        }

        /**
         * What the log of refusals shows of the request: without its query, which may have secrets.
         *
         * @param lock empty: not known
         */
        Map<String, String> shown(String lock) {
            Map<String, String> shown = new LinkedHashMap<>();
            if (!lock.isEmpty()) {
                shown.put(Rejection.LOCK, lock);
            }
            shown.put("method", request.method().name());
            shown.put("path", withoutQuery(context.rawPath()));
            shown.put("peer", String.valueOf(context.remoteAddress()));
            return shown;
        }
    }

    private static String withoutQuery(String rawPath) {
        int query = rawPath.indexOf('?');
        return query < 0 ? rawPath : rawPath.substring(0, query);
    }

    /** @throws RejectedException MALFORMED_REQUEST */
    private void refuseUnsupported(RequestHeaders headers, boolean http2) {
        if (http2) {
            ForwardedHeaders.refuseContradictions(headers);
        }
        if (GrpcCall.isWeb(headers)) {
            throw RejectedException.malformed(
                    "gRPC-Web has the status of a call in its body, where the gateway does not"
                            + " see it; put the translation to gRPC in front of the gateway");
        }
        if (GrpcCall.isOne(headers) && !(http2 && config.upstream().http2())) {
            throw RejectedException.malformed(
                    "a gRPC call needs HTTP/2 on both sides of the gateway; call it over HTTP/2,"
                            + " and set protocol: http2 of upstream in its file");
        }
    }

    /** @throws RejectedException when the headers name no lock, or have no sequencer */
    private void enter(Incoming call, Guarding guarding, RequestPath target) {
        RequestHeaders headers = call.request().headers();
        Binding binding = guarding.binding(headers, target, field -> {
            throw new IllegalStateException("this lock needs the message");
        });
        if (binding == null) {
            forward(call, null);
        } else {
            enter(call, guarding.access(), binding, sequencer(call, binding));
        }
    }

    /** @throws RejectedException SEQUENCER_MISSING, which names the lock; SEQUENCER_INVALID */
    private static SignedSequencer sequencer(Incoming call, Binding binding) {
        try {
            return sequencer(call, binding.lock().value());
        } catch (RejectedException e) {
            throw e.rejection()
                    .with(Rejection.LOCK, binding.lock().value())
                    .with(Rejection.RESOURCE, binding.resource())
                    .asException();
        }
    }

    /** @param lock for people: its name, or the route's template where only the message has the name */
    private static SignedSequencer sequencer(Incoming call, String lock) {
        try {
            return call.protocol().sequencer(call.request().headers());
        } catch (RejectedException e) {
            Rejection rejection = e.rejection();
            String of = rejection.reason() == Reason.SEQUENCER_MISSING ? " (lock '" + lock + "')" : "";
            throw new Rejection(rejection.reason(), rejection.message() + of, rejection.metadata()).asException();
        }
    }

    /**
     * Reads the message first, which stays in memory until it is forwarded.
     *
     * @throws RejectedException when the message cannot name a lock, or there is no sequencer
     */
    private void enterByMessage(Incoming arrived, Guarding guarding, RequestPath target) {
        RequestHeaders headers = arrived.request().headers();
        Map<String, MessageField> fields = messageLocks.of(target);
        UnaryMessage.requireReadable(headers);
        SignedSequencer sequencer = sequencer(arrived, String.valueOf(guarding.naming()));
        EventLoop loop = arrived.context().eventLoop().withoutContext();
        HttpRequest read;
        HttpRequest forwarded;
        try (HttpRequestDuplicator duplicator = arrived.request().toDuplicator(loop, 0)) {
            read = duplicator.duplicate();
            forwarded = duplicator.duplicate();
        }
        Incoming call = new Incoming(arrived.context(), forwarded, arrived.reply(), arrived.protocol());
        var unusedEnd = call.reply().whenComplete().handle((done, failure) -> {
            forwarded.abort(); // What was not sent is freed.
            return null;
        });
        var unused = UnaryMessage.of(
                        read, loop, requests, call.reply(), config.upstream().idleTimeout())
                .handle((frame, failure) -> {
                    try {
                        if (failure != null) {
                            throw failure;
                        }
                        Binding binding = guarding.binding(
                                headers,
                                target,
                                field -> Objects.requireNonNull(fields.get(field), field)
                                        .read(frame, UnaryMessage.FRAME_BYTES));
                        enter(call, guarding.access(), Objects.requireNonNull(binding), sequencer);
                    } catch (RejectedException e) {
                        refuseOrObserve(call, e.rejection());
                    } catch (Throwable e) {
                        call.reply().close(e); // The client has gone.
                    }
                    return null;
                });
    }

    private void enter(Incoming call, Access access, Binding binding, SignedSequencer sequencer) {
        Duration wait = call.protocol()
                .timeLeft()
                .filter(left -> left.compareTo(config.lockWait()) < 0)
                .orElse(config.lockWait());
        CompletableFuture<Admission> entering = guard.enterAsync(
                sequencer,
                access,
                Check.LOCAL,
                wait,
                () -> call.shown(binding.lock().value()),
                binding);
        if (entering.isDone() && !entering.isCompletedExceptionally()) {
            forward(call, entering.join());
            return;
        }
        cancelWithClient(call.reply(), entering);
        var unused = entering.whenComplete((admission, failure) -> call.context()
                .eventLoop()
                .execute(() -> {
                    if (failure == null) {
                        forward(call, admission);
                    } else {
                        refuse(call, failure);
                    }
                }));
    }

    private static void cancelWithClient(HttpResponseWriter reply, CompletableFuture<Admission> entering) {
        var unused = reply.whenComplete().handle((done, failure) -> failure != null && entering.cancel(false));
    }

    /** @param admission null when the request is not guarded */
    private void forward(Incoming call, @Nullable Admission admission) {
        ServiceRequestContext context = call.context();
        if (!call.reply().isOpen()) {
            if (admission != null) {
                admission.close(); // The client has gone, and nothing was sent.
            }
            return;
        }
        try {
            RequestHeaders headers = ForwardedHeaders.of(
                    call.request().headers(), context.rawPath(), context.remoteAddress(), config.passSequencer());
            Exchange exchange = new Exchange(
                    context.eventLoop().withoutContext(),
                    call.protocol(),
                    call.request(),
                    call.reply(),
                    upstream.next(),
                    admission,
                    config.upstream().idleTimeout());
            if (Http1Check.waitsForContinue(call.request().headers())) {
                var unused = call.reply().tryWrite(ResponseHeaders.of(HttpStatus.CONTINUE));
            }
            exchange.start(call.protocol().forwarded(headers));
        } catch (RuntimeException e) {
            LOG.error("a request could not be forwarded", e);
            if (admission == null) {
                call.reply().close(e);
            } else {
                var unused =
                        admission.outcomeUnknown().thenRun(() -> call.reply().close(e));
            }
        }
    }

    private void refuseOrObserve(Incoming call, Rejection rejection) {
        refuseOrObserve(call, ProblemDetail.status(rejection.reason()), rejection);
    }

    /** With a guard that only observes the request goes on. */
    private void refuseOrObserve(Incoming call, HttpStatus status, Rejection rejection) {
        if (guard.recordRefusal(rejection, call.shown(""))) {
            call.refuse(call.protocol().refusal(status, rejection));
        } else {
            forward(call, null);
        }
    }

    /** Answers what the guard has refused, and counted. */
    private static void refuse(Incoming call, Throwable failure) {
        Throwable cause = Exceptions.peel(failure);
        if (cause instanceof CancellationException) {
            return; // The client has gone.
        }
        Rejection why;
        if (cause instanceof RejectedException rejected) {
            why = rejected.rejection();
        } else {
            LOG.error("the guard failed; the request was not forwarded", cause);
            why = new Rejection(Reason.MARK_UNAVAILABLE, "the guard failed; nothing was applied: try again");
        }
        call.refuse(call.protocol().refusal(why));
    }

    private static Rejection noRoute(RequestHeaders headers, RequestPath target, boolean isForwarded) {
        String path = withoutQuery(target.raw());
        return new Rejection(
                Reason.MALFORMED_REQUEST,
                "no route of the gateway is for " + headers.method() + " " + path
                        + (isForwarded ? "" : "; nothing was forwarded")
                        + ": add one to its file, as unguarded if it needs no lock");
    }
}
