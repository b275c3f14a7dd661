package dev.palisade.server;

import dev.palisade.server.admin.AdminApi;
import dev.palisade.server.admin.AdminProblem;
import dev.palisade.server.admin.AdminRequest;
import dev.palisade.server.admin.AdminResponse;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Bounded set of server-sent event streams. A stream repeats its request at each tick, once a second, and sends the response if it changed, so
 * rights, tokens and certificates count as they do for the request alone; the first refusal is sent too, and ends the stream. A
 * client that does not read has one unsent event at most, and is closed. On the admin port's thread only.
 */
final class EventStreams {
    /** Open at one time. */
    static final int STREAMS_MAX = 32;

    /** Without an event for so long a comment is sent, by which clients see that the stream lives. */
    private static final int QUIET_TICKS = 3;
    /** How long a client may leave an event unread. */
    private static final int UNREAD_TICKS_MAX = 30;
    /** A stream ends then, and its client opens another: with a handshake, under the authorities of that time. */
    private static final int TICKS_MAX = 600;

    /** For the last bytes of a stream; a client that does not read them is cut off. */
    private static final int END_TICKS = 5;

    private final AdminApi api;
    private final long tickMillis;
    private final Set<Stream> open = new HashSet<>();

    EventStreams(AdminApi api, EventLoop thread, long tickMillis) {
        this.api = api;
        this.tickMillis = tickMillis;
        var unused = thread.scheduleAtFixedRate(
                () -> List.copyOf(open).forEach(Stream::tick), tickMillis, tickMillis, TimeUnit.MILLISECONDS);
    }

    /** @param refusal sends a response that begins no stream */
    void open(ChannelHandlerContext connection, AdminRequest request, Consumer<AdminResponse> refusal) {
        if (open.size() >= STREAMS_MAX) {
            closeSoon(connection);
            refusal.accept(AdminProblem.limit(
                    503, "eventStreamsMax", "eventStreamsMax is " + STREAMS_MAX + "; close another page, or poll"));
            return;
        }
        Stream stream = new Stream(connection, request);
        open.add(stream);
        var unused = connection.channel().closeFuture().addListener(closed -> open.remove(stream));
        stream.begin(refusal);
    }

    /** Also if its client does not read: the deadline of connections does not hold for streams. */
    private void closeSoon(ChannelHandlerContext connection) {
        var unused = connection
                .executor()
                .schedule(
                        () -> {
                            var unusedClose = connection.close();
                        },
                        END_TICKS * tickMillis,
                        TimeUnit.MILLISECONDS);
    }

    /** Ends all of them; their clients may come back. */
    void endAll() {
        List.copyOf(open).forEach(Stream::end);
    }

    private final class Stream {
        private final ChannelHandlerContext connection;
        private final AdminRequest request;
        private String sent = "";
        private boolean isAsking;
        private int ticks;
        private int quietTicks;
        private int unreadTicks;

        Stream(ChannelHandlerContext connection, AdminRequest request) {
            this.connection = connection;
            this.request = request;
        }

        void begin(Consumer<AdminResponse> refusal) {
            ask(response -> {
                if (response.status() != HttpResponseStatus.OK.code()) {
                    open.remove(this);
                    closeSoon(connection);
                    refusal.accept(response);
                    return;
                }
                HttpResponse head = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
                head.headers()
                        .set(HttpHeaderNames.CONTENT_TYPE, "text/event-stream")
                        .set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED)
                        .set(HttpHeaderNames.CACHE_CONTROL, HttpHeaderValues.NO_STORE)
                        .set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
                AdminResponse.SECURITY_HEADERS.forEach(head.headers()::set);
                var unused = connection.write(head);
                update(response);
            });
        }

        void tick() {
            if (++ticks > TICKS_MAX) {
                end();
            } else if (!connection.channel().isWritable()) {
                if (++unreadTicks > UNREAD_TICKS_MAX) {
                    var unused = connection.close();
                }
            } else if (!isAsking) {
                unreadTicks = 0;
                ask(this::update);
            }
        }

        private void ask(Consumer<AdminResponse> then) {
            isAsking = true;
            var unused = api.respond(request)
                    .whenCompleteAsync(
                            (response, failure) -> {
                                isAsking = false;
                                if (response == null) {
                                    var unusedClose = connection.close();
                                } else {
                                    then.accept(response);
                                }
                            },
                            connection.executor());
        }

        private void update(AdminResponse response) {
            if (response.status() != HttpResponseStatus.OK.code()) {
                send("event: problem\ndata: " + response.body() + "\n\n");
                end();
            } else if (!response.body().equals(sent)) {
                sent = response.body();
                quietTicks = 0;
                send("data: " + sent + "\n\n");
            } else if (++quietTicks >= QUIET_TICKS) {
                quietTicks = 0;
                send(":\n\n");
            }
        }

        private void send(String text) {
            ByteBuf bytes = Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
            var unused = connection.writeAndFlush(new DefaultHttpContent(bytes));
        }

        void end() {
            open.remove(this);
            closeSoon(connection);
            var unused = connection
                    .writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT)
                    .addListener(ChannelFutureListener.CLOSE);
        }
    }
}
