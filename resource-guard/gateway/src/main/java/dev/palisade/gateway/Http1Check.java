package dev.palisade.gateway;

import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.SequencerHeader;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.CombinedChannelDuplexHandler;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.ssl.ApplicationProtocolNegotiationHandler;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Check of the headers of HTTP/1.1 that the HTTP library acts on and then removes, so that {@link GatewayService} does
 * not see them: the version, Connection, Transfer-Encoding and Host. A request that it refuses gets a mark, by which the service
 * replies in the order of the connection's requests. Trailers are dropped (RFC 9110, 6.5.1), and an upgrade to
 * HTTP/2 is passed over. A client that waits for 100 Continue before it sends its body gets it from the service, too, and
 * only when the request is forwarded: the library would send it at once. Of one connection, on its event loop only.
 */
final class Http1Check extends ChannelInboundHandlerAdapter {
    private static final Logger LOG = LoggerFactory.getLogger(Http1Check.class);

    /** Header of a refused request. Its value begins with a secret, so no client can write one. */
    private static final String MARK = "palisade-refused";

    /** Header of a request whose client waits for 100 Continue. */
    static final String WAITS = "palisade-waits";

    private static final String SECRET = UUID.randomUUID() + " ";
    private static final String NOT_IMPLEMENTED = "501 ";
    private static final String OTHER_VERSION = "505 ";
    private static final String NO_ROUTE = "404 ";

    /** Headers that are meant for all on the way: as options of Connection they would be dropped here. */
    private static final Set<String> END_TO_END = Set.of(
            "host",
            "content-length",
            "transfer-encoding",
            "trailer",
            ForwardedHeaders.SEQUENCER,
            SequencerHeader.KEY.name());

    private static final String OUTSIDE_OF_HOSTS = " ,/@?#\\\"<>";

    private Http1Check() {}

    /** Adds it to the pipeline of a new connection, which may turn out to be one of HTTP/2. */
    static void on(ChannelPipeline pipeline) {
        ChannelHandlerContext negotiation = pipeline.context(ApplicationProtocolNegotiationHandler.class);
        if (negotiation == null) {
            pipeline.addFirst(new Installer());
        } else {
            pipeline.addBefore(negotiation.name(), null, new Installer());
        }
    }

    /** Why this request was refused here. */
    record Refusal(HttpStatus status, Rejection rejection) {}

    static Optional<Refusal> refusal(RequestHeaders headers) {
        String mark = headers.get(MARK);
        if (mark == null || !mark.startsWith(SECRET)) {
            return Optional.empty();
        }
        String why = mark.substring(SECRET.length());
        HttpStatus status = why.startsWith(NOT_IMPLEMENTED)
                ? HttpStatus.NOT_IMPLEMENTED
                : why.startsWith(OTHER_VERSION)
                        ? HttpStatus.HTTP_VERSION_NOT_SUPPORTED
                        : why.startsWith(NO_ROUTE) ? HttpStatus.NOT_FOUND : HttpStatus.BAD_REQUEST;
        String text = status.equals(HttpStatus.BAD_REQUEST) ? why : why.substring(NOT_IMPLEMENTED.length());
        return Optional.of(
                new Refusal(status, new Rejection(Reason.MALFORMED_REQUEST, text + "; nothing was forwarded")));
    }

    static boolean waitsForContinue(RequestHeaders headers) {
        return SECRET.equals(headers.get(WAITS));
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
        if (message instanceof HttpRequest request && request.decoderResult().isSuccess()) {
            check(request);
        }
        if (message instanceof LastHttpContent last && !last.trailingHeaders().isEmpty()) {
            last.trailingHeaders().clear();
        }
        super.channelRead(context, message);
    }

    private static void check(HttpRequest request) {
        HttpHeaders headers = request.headers();
        String upgrade = headers.get("upgrade");
        if (upgrade != null && !upgrade.equalsIgnoreCase("websocket")) {
            headers.remove("upgrade");
        }
        if (HttpUtil.is100ContinueExpected(request)) {
            headers.remove("expect");
            headers.set(WAITS, SECRET);
        }
        String problem = problem(request, headers);
        if (problem != null) {
            headers.set(MARK, SECRET + problem);
            if (request.uri().equals("*")) {
                request.setUri("/"); // The library would reply to it.
            }
            headers.set("connection", "close");
            headers.set("host", "refused");
        }
    }

    private static @Nullable String problem(HttpRequest request, HttpHeaders headers) {
        HttpVersion version = request.protocolVersion();
        if (!version.equals(HttpVersion.HTTP_1_1) && !version.equals(HttpVersion.HTTP_1_0)) {
            return OTHER_VERSION + "the request's version is not HTTP/1.1; send it as HTTP/1.1";
        }
        String named = headers.get("connection") == null ? null : endToEnd(headers.getAll("connection"));
        if (named != null) {
            return "header 'Connection' names '" + named + "', which is for all on the way; leave it out";
        }
        String coding = headers.get("transfer-encoding");
        if (coding != null && (!coding.equalsIgnoreCase("chunked") || several(headers, "transfer-encoding"))) {
            List<String> codings = headers.getAll("transfer-encoding");
            String all = String.join(", ", codings).toLowerCase(Locale.ROOT);
            return all.indexOf("chunked") == all.length() - "chunked".length()
                    ? NOT_IMPLEMENTED + "the gateway decodes no transfer coding but chunked; send the body without it"
                    : "the transfer coding of the body must be chunked, once; send it so, or with a Content-Length";
        }
        if (request.uri().equals("*")) {
            return NO_ROUTE + "no route of the gateway is for " + request.method() + " *";
        }
        String host = headers.get("host");
        if (host == null) {
            return request.protocolVersion().compareTo(HttpVersion.HTTP_1_1) < 0
                    ? null
                    : "the request has no Host header; send one";
        }
        return several(headers, "host") || !isHost(host)
                ? "the request's Host header is there twice or names no host; send one name or address"
                : null;
    }

    /** Whether that is one name or address, with a port or without. */
    static boolean isHost(String text) {
        return !text.isEmpty() && text.chars().noneMatch(each -> OUTSIDE_OF_HOSTS.indexOf(each) >= 0);
    }

    private static boolean several(HttpHeaders headers, String name) {
        return headers.getAll(name).size() > 1;
    }

    /** The first option that is the name of such a header, or is no name at all. */
    private static @Nullable String endToEnd(List<String> values) {
        for (String value : values) {
            for (String option : value.split(",", -1)) {
                String name = option.strip().toLowerCase(Locale.ROOT);
                if (END_TO_END.contains(ForwardedHeaders.asServicesRead(name)) || name.indexOf(':') >= 0) {
                    return name;
                }
            }
        }
        return null;
    }

    /**
     * The HTTP library chooses the protocol when it has seen the first bytes, and adds its decoder then. So those are
     * passed on alone, and the check is added behind the decoder before it has a whole request.
     */
    private static final class Installer extends ChannelInboundHandlerAdapter {
        private static final int CHOICE_BYTES = 4;

        private int passed;

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
            if (!(message instanceof ByteBuf bytes)) {
                super.channelRead(context, message);
                return;
            }
            int first = Math.min(CHOICE_BYTES - passed, bytes.readableBytes());
            passed += first;
            context.fireChannelRead(bytes.readRetainedSlice(first));
            if (passed == CHOICE_BYTES) {
                install(context);
            }
            if (bytes.isReadable()) {
                context.fireChannelRead(bytes);
            } else {
                bytes.release();
            }
            if (passed == CHOICE_BYTES && !context.isRemoved()) {
                context.pipeline().remove(this);
            }
        }

        private static void install(ChannelHandlerContext context) {
            ChannelPipeline pipeline = context.pipeline();
            if (pipeline.get(Http2ConnectionHandler.class) != null) {
                return; // Such headers are errors there.
            }
            for (Map.Entry<String, ChannelHandler> each : pipeline) {
                if (each.getValue() instanceof CombinedChannelDuplexHandler) {
                    pipeline.addAfter(each.getKey(), null, new Http1Check());
                    return;
                }
            }
            if (context.channel().isActive()) {
                LOG.error("a connection is closed: the HTTP library has no decoder where one is expected");
                var unused = context.close();
            }
        }
    }
}
