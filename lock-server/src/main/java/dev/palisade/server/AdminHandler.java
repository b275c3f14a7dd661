package dev.palisade.server;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.ClientVerification;
import dev.palisade.server.admin.AdminApi;
import dev.palisade.server.admin.AdminProblem;
import dev.palisade.server.admin.AdminRequest;
import dev.palisade.server.admin.AdminResponse;
import dev.palisade.server.metrics.ServerMetrics;
import dev.palisade.server.rpc.Authentication;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.TooLongFrameException;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.netty.handler.ssl.SslHandler;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * HTTP/1.1 endpoint of one connection of the admin port, which has one request. The response is sent when the request has been
 * read to its end, so that a client that still sends a body gets it too. Health is open to all, as gRPC's is; metrics need the
 * rights of {@code operate}; {@link AdminApi} decides on everything else.
 */
final class AdminHandler extends SimpleChannelInboundHandler<HttpObject> {
    private static final String TEXT = "text/plain; charset=utf-8";

    private final ServerMetrics metrics;
    private final @Nullable ClientVerification certificates;
    private final @Nullable Authentication authentication;
    private final Supplier<Optional<String>> unready;
    private final AdminApi api;
    private final EventStreams streams;
    /** Closes the connection when its time is over. */
    private final Future<?> deadline;

    private final Runnable onRequest;

    private @Nullable FullHttpResponse response;
    /** For the API, until its body is read. */
    private @Nullable HttpRequest apiRequest;

    private final ByteBuf body = Unpooled.buffer(0);
    private boolean responded;

    /**
     * @param certificates verifies the client of each request, whoever it says it is; null: no TLS
     * @param onRequest runs when the client has sent a whole request
     */
    AdminHandler(
            ServerMetrics metrics,
            @Nullable ClientVerification certificates,
            @Nullable Authentication authentication,
            Supplier<Optional<String>> unready,
            AdminApi api,
            EventStreams streams,
            Future<?> deadline,
            Runnable onRequest) {
        this.metrics = metrics;
        this.certificates = certificates;
        this.authentication = authentication;
        this.unready = unready;
        this.api = api;
        this.streams = streams;
        this.deadline = deadline;
        this.onRequest = onRequest;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext connection, HttpObject part) {
        if (responded) {
            return; // A second request; the connection is about to end.
        }
        if (part.decoderResult().isFailure()) {
            send(connection, malformed(part.decoderResult().cause()));
            return;
        }
        if (part instanceof HttpRequest request) {
            Optional<String> refusal =
                    certificates == null ? Optional.empty() : certificates.refusal(session(connection));
            if (refusal.isPresent()) {
                response = text(HttpResponseStatus.UNAUTHORIZED, refusal.get());
            } else if (api.serves(path(request))) {
                apiRequest = request;
            } else {
                response = respond(connection, request);
            }
        }
        if (part instanceof HttpContent content && apiRequest != null) {
            read(content.content());
        }
        if (part instanceof LastHttpContent) {
            onRequest.run();
            if (apiRequest != null) {
                ask(connection, apiRequest);
            } else if (response != null) {
                send(connection, response);
            }
        }
    }

    private static String path(HttpRequest request) {
        return request.uri().split("\\?", 2)[0];
    }

    /** A body that is too long is read to its end and not kept. */
    private void read(ByteBuf bytes) {
        if (body.readableBytes() + bytes.readableBytes() <= AdminPort.BODY_BYTES_MAX) {
            body.writeBytes(bytes);
        } else {
            body.clear();
            apiRequest = null;
            response = response(AdminProblem.limit(
                    HttpResponseStatus.REQUEST_ENTITY_TOO_LARGE.code(),
                    "bodyBytesMax",
                    "the body is longer than " + AdminPort.BODY_BYTES_MAX + " bytes"));
        }
    }

    private void ask(ChannelHandlerContext connection, HttpRequest request) {
        responded = true;
        AdminRequest asked = asked(connection, request);
        if (api.isFollowed(asked)) {
            deadline.cancel(false);
            streams.open(connection, asked, refused -> send(connection, response(refused)));
            return;
        }
        var unused =
                api.respond(asked).thenAcceptAsync(answer -> send(connection, response(answer)), connection.executor());
    }

    private AdminRequest asked(ChannelHandlerContext connection, HttpRequest request) {
        return new AdminRequest(
                request.method().name(),
                request.uri(),
                name -> request.headers().getAll(name),
                body.toString(StandardCharsets.UTF_8),
                session(connection),
                connection.channel().remoteAddress());
    }

    private static FullHttpResponse response(AdminResponse answer) {
        FullHttpResponse response =
                response(HttpResponseStatus.valueOf(answer.status()), answer.contentType(), answer.body());
        answer.headers().forEach(response.headers()::set);
        return response;
    }

    private FullHttpResponse respond(ChannelHandlerContext connection, HttpRequest request) {
        String path = path(request);
        if (!List.of("/metrics", "/health/live", "/health/ready").contains(path)) {
            return text(HttpResponseStatus.NOT_FOUND, "not found; use /, /metrics, /health/live or /health/ready");
        }
        if (!request.method().equals(HttpMethod.GET) && !request.method().equals(HttpMethod.HEAD)) {
            FullHttpResponse refused =
                    text(HttpResponseStatus.METHOD_NOT_ALLOWED, "this path is only for GET and HEAD");
            refused.headers().set(HttpHeaderNames.ALLOW, "GET, HEAD");
            return refused;
        }
        return switch (path) {
            case "/health/live" -> text(HttpResponseStatus.OK, "live");
            case "/health/ready" ->
                unready.get()
                        .map(why -> text(HttpResponseStatus.SERVICE_UNAVAILABLE, "not ready: " + why))
                        .orElseGet(() -> text(HttpResponseStatus.OK, "ready"));
            default ->
                AdminApi.refusedHost(asked(connection, request))
                        .map(AdminHandler::response)
                        .orElseGet(() -> metrics(connection, request));
        };
    }

    private FullHttpResponse metrics(ChannelHandlerContext connection, HttpRequest request) {
        if (authentication != null) {
            List<String> presented = request.headers().getAll(HttpHeaderNames.AUTHORIZATION);
            try {
                authentication.requireOperator(
                        presented.isEmpty() ? null : presented,
                        session(connection),
                        connection.channel().remoteAddress());
            } catch (RejectedException e) {
                return refused(e.rejection());
            }
        }
        ServerMetrics.Exposition exposition = metrics.scrape(request.headers().getAll(HttpHeaderNames.ACCEPT));
        return response(HttpResponseStatus.OK, exposition.contentType(), exposition.text());
    }

    private static @Nullable SSLSession session(ChannelHandlerContext connection) {
        SslHandler tls = connection.pipeline().get(SslHandler.class);
        return tls == null ? null : tls.engine().getSession();
    }

    private static FullHttpResponse refused(Rejection rejection) {
        if (rejection.reason() == Reason.PERMISSION_DENIED) {
            return text(HttpResponseStatus.FORBIDDEN, rejection.message());
        }
        FullHttpResponse response = text(HttpResponseStatus.UNAUTHORIZED, rejection.message());
        response.headers().set(HttpHeaderNames.WWW_AUTHENTICATE, "Bearer");
        return response;
    }

    private static FullHttpResponse malformed(Throwable cause) {
        if (cause instanceof TooLongHttpLineException) {
            return text(HttpResponseStatus.REQUEST_URI_TOO_LONG, "the request line is too long");
        }
        return cause instanceof TooLongFrameException
                ? text(HttpResponseStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the headers are too long")
                : text(HttpResponseStatus.BAD_REQUEST, "not a request of HTTP/1.1");
    }

    private static FullHttpResponse text(HttpResponseStatus status, String line) {
        return response(status, TEXT, line + "\n");
    }

    private static FullHttpResponse response(HttpResponseStatus status, String contentType, String body) {
        ByteBuf bytes = Unpooled.copiedBuffer(body, StandardCharsets.UTF_8);
        FullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, bytes);
        response.headers()
                .set(HttpHeaderNames.CONTENT_TYPE, contentType)
                .set(HttpHeaderNames.CONTENT_LENGTH, bytes.readableBytes())
                .set(HttpHeaderNames.CACHE_CONTROL, HttpHeaderValues.NO_STORE)
                .set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
        AdminResponse.SECURITY_HEADERS.forEach(response.headers()::set);
        return response;
    }

    private void send(ChannelHandlerContext connection, FullHttpResponse last) {
        responded = true;
        var unused = connection.writeAndFlush(last).addListener(ChannelFutureListener.CLOSE);
    }

    /** A broken connection, or bytes that are no TLS: no event of ours. */
    @Override
    public void exceptionCaught(ChannelHandlerContext connection, Throwable cause) {
        var unused = connection.close();
    }
}
