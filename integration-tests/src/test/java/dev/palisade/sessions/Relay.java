package dev.palisade.sessions;

import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.Event.EventCase;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.ServerFrame;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Stands between session streams and a lock server and understands what is said: swallows a frame of a kind, falls silent, and
 * knows which keep-alives were answered. Never changes or reorders a frame. Safe for many threads.
 */
final class Relay implements AutoCloseable {
    /** What becomes of a stream one of whose frames was swallowed. */
    enum Fate {
        /** Both ends are told at once. */
        CUT,
        /** Nothing passes any more and nobody is told. */
        FROZEN
    }

    private record Loss(Predicate<ServerFrame> which, Fate fate) {}

    private final ManagedChannel onward;
    private final Server server;
    private final Queue<Stream> streams = new ConcurrentLinkedQueue<>();
    private final AtomicInteger offers = new AtomicInteger();
    private volatile boolean silentOnward;
    private volatile boolean silentBack;
    private volatile long answeredSentNanos;

    @Nullable
    private volatile Loss armed;

    @Nullable
    private volatile ServerFrame swallowed;

    /** @param address HOST:PORT of the lock server */
    Relay(String address) {
        onward = ManagedChannelBuilder.forTarget(address)
                .usePlaintext()
                .directExecutor()
                .build();
        try {
            server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                    .directExecutor()
                    .addService(new Service())
                    .build()
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    String address() {
        return "127.0.0.1:" + server.getPort();
    }

    /** The next frame that {@code which} accepts is lost, and its stream comes to {@code fate}; later streams pass. */
    void loseNext(Predicate<ServerFrame> which, Fate fate) {
        swallowed = null;
        armed = new Loss(which, fate);
    }

    /** Whether the frame that was to be lost has come and was lost. */
    boolean hasLost() {
        return swallowed != null;
    }

    /** Ends all streams; both ends are told. */
    void cut() {
        for (Stream next = streams.poll(); next != null; next = streams.poll()) {
            next.cut();
        }
    }

    /** From now on nothing passes these ways, on later streams neither, and nobody is told of an end. */
    void silence(boolean toServer, boolean toClient) {
        silentOnward = toServer;
        silentBack = toClient;
    }

    /** When the client sent the newest frame that was answered by a keep-alive reply it got, by its own monotonic clock. */
    long answeredSentNanos() {
        return answeredSentNanos;
    }

    /** How many offers were passed on. */
    int offers() {
        return offers.get();
    }

    private final class Service extends LocksGrpc.LocksImplBase {
        @Override
        public StreamObserver<ClientFrame> session(StreamObserver<ServerFrame> client) {
            Stream stream = new Stream(client);
            streams.add(stream);
            LocksGrpc.newStub(onward).session(stream.fromServer);
            return stream.fromClient;
        }
    }

    /** One stream; guards itself, since each side speaks on threads of its own. */
    private final class Stream {
        private final StreamObserver<ServerFrame> client;
        private final Map<Long, Long> keepAlives = new ConcurrentHashMap<>();
        private @Nullable ClientCallStreamObserver<ClientFrame> server;
        private boolean frozen;
        private boolean ended;

        Stream(StreamObserver<ServerFrame> client) {
            this.client = client;
        }

        private final StreamObserver<ClientFrame> fromClient = new StreamObserver<>() {
            @Override
            public void onNext(ClientFrame frame) {
                passOn(frame);
            }

            @Override
            public void onError(Throwable broken) {
                endServer();
            }

            @Override
            public void onCompleted() {
                endServer();
            }
        };

        private final ClientResponseObserver<ClientFrame, ServerFrame> fromServer = new ClientResponseObserver<>() {
            @Override
            public void beforeStart(ClientCallStreamObserver<ClientFrame> stream) {
                server = stream;
            }

            @Override
            public void onNext(ServerFrame frame) {
                passBack(frame);
            }

            @Override
            public void onError(Throwable broken) {
                endClient(broken);
            }

            @Override
            public void onCompleted() {
                endClient(Status.UNAVAILABLE.asRuntimeException());
            }
        };

        private synchronized void passOn(ClientFrame frame) {
            if (!ended && !frozen && !silentOnward && server != null) {
                if (frame.hasKeepAlive()) {
                    keepAlives.put(frame.getKeepAlive().getKeepAliveId(), frame.getSentNanos());
                }
                server.onNext(frame);
            }
        }

        private synchronized void passBack(ServerFrame frame) {
            Loss loss = armed;
            if (ended || frozen || silentBack) {
                return;
            }
            if (loss != null && loss.which().test(frame)) {
                armed = null;
                swallowed = frame;
                frozen = true;
                if (loss.fate() == Fate.CUT) {
                    frozen = false;
                    cut();
                }
                return;
            }
            if (frame.hasKeepAlive()) {
                Long sent = keepAlives.remove(frame.getKeepAlive().getRenewedId());
                answeredSentNanos = sent == null ? answeredSentNanos : sent;
            }
            offers.addAndGet((int) frame.getEventsList().stream()
                    .filter(event -> event.getEventCase() == EventCase.OFFERED)
                    .count());
            client.onNext(frame);
        }

        private synchronized void cut() {
            endServer();
            endClient(Status.UNAVAILABLE.withDescription("cut").asRuntimeException());
        }

        private synchronized void endServer() {
            if (!frozen && !silentOnward && server != null) {
                server.cancel("the client ended the stream", null);
            }
        }

        private synchronized void endClient(Throwable broken) {
            if (!ended && !frozen && !silentBack) {
                ended = true;
                client.onError(broken);
            }
        }
    }

    @Override
    public void close() {
        server.shutdownNow();
        onward.shutdownNow();
    }
}
