package dev.palisade.gateway;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.SessionProtocol;
import com.linecorp.armeria.common.util.EventLoopGroups;
import com.linecorp.armeria.server.Server;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.netty.channel.EventLoopGroup;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiFunction;

/**
 * A service that knows nothing of locks, behind the gateway: keeps what is put, and a log of what came and of what was
 * applied. The log is what tests judge by.
 */
final class PlainService implements AutoCloseable {
    /** Begun requests, as METHOD TARGET. */
    final List<String> begun = new CopyOnWriteArrayList<>();

    final List<RequestHeaders> headers = new CopyOnWriteArrayList<>();

    /** Applied writes, as TARGET BYTES. */
    final List<String> applied = new CopyOnWriteArrayList<>();

    /** Requests whose body did not arrive whole. */
    final List<String> broken = new CopyOnWriteArrayList<>();

    /** Of each request that was applied, as text; empty without any. */
    final List<String> trailers = new CopyOnWriteArrayList<>();

    final ConcurrentHashMap<String, String> contents = new ConcurrentHashMap<>();

    /** What it does with a request; a test may replace it. */
    volatile BiFunction<ServiceRequestContext, HttpRequest, HttpResponse> handler = this::store;

    private final Server server;

    PlainService() {
        EventLoopGroup loops = loops(2);
        server = Server.builder()
                .workerGroup(loops, true)
                .bossGroupFactory(name -> loops(1))
                .port(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), SessionProtocol.HTTP)
                .maxRequestLength(0)
                .requestTimeoutMillis(0)
                .serviceUnder("/", (context, request) -> {
                    begun.add(request.method() + " " + context.rawPath());
                    headers.add(request.headers());
                    return handler.apply(context, request);
                })
                .build();
        server.start().join();
    }

    private static EventLoopGroup loops(int threads) {
        return EventLoopGroups.builder()
                .numThreads(threads)
                .gracefulShutdown(Duration.ZERO, Duration.ofSeconds(1))
                .build();
    }

    String address() {
        return "127.0.0.1:" + server.activeLocalPort();
    }

    /** Applies the request when its body has arrived whole. */
    HttpResponse store(ServiceRequestContext context, HttpRequest request) {
        return HttpResponse.of(request.aggregate().handle((whole, failure) -> {
            if (failure != null) {
                broken.add(context.rawPath());
                return HttpResponse.ofFailure(failure);
            }
            trailers.add(whole.trailers().isEmpty() ? "" : whole.trailers().toString());
            return apply(context.rawPath(), request.method(), whole.content());
        }));
    }

    private HttpResponse apply(String target, HttpMethod method, HttpData content) {
        if (method == HttpMethod.GET || method == HttpMethod.HEAD) {
            return HttpResponse.of(contents.getOrDefault(target, ""));
        }
        applied.add(target + " " + content.length());
        contents.put(target, content.toStringUtf8());
        return HttpResponse.of("stored " + content.length());
    }

    /** From now on each request is applied only when the result is completed, and then as {@link #store} does. */
    CompletableFuture<Void> hold() {
        CompletableFuture<Void> go = new CompletableFuture<>();
        handler = (context, request) -> HttpResponse.of(request.aggregate()
                .thenCombine(go, (whole, gone) -> apply(context.rawPath(), request.method(), whole.content())));
        return go;
    }

    /** Not waited for: the HTTP server takes 2 s. */
    @Override
    public void close() {
        var unused = server.stop();
    }
}
