package dev.palisade.gateway;

import com.linecorp.armeria.client.ClientFactory;
import com.linecorp.armeria.client.ClientFactoryBuilder;
import com.linecorp.armeria.client.Endpoint;
import com.linecorp.armeria.client.RequestOptions;
import com.linecorp.armeria.client.WebClient;
import com.linecorp.armeria.common.ExchangeType;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.SessionProtocol;
import com.linecorp.armeria.common.util.ReleasableHolder;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.gateway.GatewayConfig.Upstream;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.EventExecutor;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The instances of the service behind the gateway, used in turn; connections are reused. One that refused a connection
 * is passed over for a second, unless all did. Never sends a request twice. Safe for use by several threads.
 */
final class UpstreamPool implements AutoCloseable {
    private static final AttributeKey<String> TARGET = AttributeKey.valueOf(UpstreamPool.class, "TARGET");

    /**
     * Idle connections are closed before a usual server closes them (Node.js does after 5 s): a request that meets a
     * connection being closed has an unknown outcome.
     */
    private static final Duration KEEP_IDLE = Duration.ofSeconds(4);

    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(3);
    private static final long PASSED_OVER_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final ClientFactory factory;
    private final List<Instance> instances;
    private final AtomicInteger turn = new AtomicInteger();

    /**
     * @param tls null: in plaintext
     * @param loops ended by {@link #close}
     */
    UpstreamPool(Upstream upstream, @Nullable ReloadableTls tls, EventLoopGroup loops) {
        ClientFactoryBuilder builder = ClientFactory.builder()
                .workerGroup(loops, true)
                .connectTimeout(CONNECT_TIMEOUT)
                .idleTimeout(KEEP_IDLE)
                .connectionPoolListener(new BatchedFlushes())
                .eventLoopSchedulerFactory(group -> (protocol, endpoints, endpoint) -> new Acquired(current(group)));
        if (tls != null) {
            builder.tlsCustomizer(context -> {
                context.trustManager(tls.trustManager());
                if (tls.hasIdentity()) {
                    context.keyManager(tls.keyManager());
                }
            });
        }
        factory = builder.build();
        instances = upstream.addresses().stream()
                .map(address -> new Instance(address, client(factory, upstream, address)))
                .toList();
    }

    /** An event loop is not used up by being used. */
    private record Acquired(EventLoop get) implements ReleasableHolder<EventLoop> {
        @Override
        public void release() {}
    }

    /**
     * The event loop of the calling thread: both connections of an exchange are on one loop. On two, the HTTP
     * library's flow control can lose a wake-up: one thread pauses reading right after the other has resumed it, and
     * the body stops for good.
     */
    private static EventLoop current(EventLoopGroup group) {
        for (EventExecutor each : group) {
            if (each.inEventLoop() && each instanceof EventLoop loop) {
                return loop;
            }
        }
        throw new IllegalStateException("requests are sent on an event loop of the gateway");
    }

    private static WebClient client(ClientFactory factory, Upstream upstream, String address) {
        return WebClient.builder(protocol(upstream), Endpoint.parse(address))
                .factory(factory)
                // Bodies have no bound, and time is measured by ActivityTimer.
                .maxResponseLength(0)
                .responseTimeoutMillis(0)
                .writeTimeout(upstream.idleTimeout())
                .decorator((delegate, context, request) -> {
                    // The client has rewritten the path; what was routed is what is sent.
                    String target = context.attr(TARGET);
                    if (target == null || target.equals(request.path())) {
                        return delegate.execute(context, request);
                    }
                    HttpRequest same =
                            request.withHeaders(request.headers().toBuilder().path(target));
                    context.updateRequest(same);
                    return delegate.execute(context, same);
                })
                .build();
    }

    private static SessionProtocol protocol(Upstream upstream) {
        if (upstream.tls() == null) {
            return upstream.http2() ? SessionProtocol.H2C : SessionProtocol.H1C;
        }
        return upstream.http2() ? SessionProtocol.H2 : SessionProtocol.H1;
    }

    /** One address. */
    static final class Instance {
        private final String address;
        private final WebClient client;
        private volatile boolean hasRefused;
        private volatile long refusedNanos;

        private Instance(String address, WebClient client) {
            this.address = address;
            this.client = client;
        }

        /**
         * Sends the request once; its path is sent as it stands. Called on the event loop of the client's connection.
         */
        HttpResponse send(HttpRequest request) {
            return client.execute(
                    request,
                    RequestOptions.builder()
                            .attr(TARGET, request.path())
                            .exchangeType(ExchangeType.BIDI_STREAMING)
                            .build());
        }

        /** It took no connection: others are asked first for a while. */
        void refused() {
            refusedNanos = System.nanoTime();
            hasRefused = true;
        }

        private boolean isPassedOver(long now) {
            return hasRefused && now - refusedNanos < PASSED_OVER_NANOS;
        }

        @Override
        public String toString() {
            return address;
        }
    }

    /** The next instance in turn. */
    Instance next() {
        long now = System.nanoTime();
        int first = Math.floorMod(turn.getAndIncrement(), instances.size());
        for (int i = 0; i < instances.size(); i++) {
            Instance instance = instances.get((first + i) % instances.size());
            if (!instance.isPassedOver(now)) {
                return instance;
            }
        }
        return instances.get(first);
    }

    @Override
    public void close() {
        factory.close();
    }
}
