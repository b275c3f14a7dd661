package dev.palisade.gateway;

import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A gRPC service of texts that knows nothing of locks: a method of each kind, and a log of what it did. */
final class TextService implements AutoCloseable {
    private static final Marshaller<String> TEXT = new TextMarshaller();

    static final MethodDescriptor<String, String> UNARY = method(MethodType.UNARY, "Unary");
    static final MethodDescriptor<String, String> UPLOAD = method(MethodType.CLIENT_STREAMING, "Upload");
    static final MethodDescriptor<String, String> DOWNLOAD = method(MethodType.SERVER_STREAMING, "Download");
    static final MethodDescriptor<String, String> CHAT = method(MethodType.BIDI_STREAMING, "Chat");

    /** Of each call. */
    final List<Metadata> headers = new CopyOnWriteArrayList<>();

    /** What it does with one message. */
    interface Handler {
        void on(String message, StreamObserver<String> replies);
    }

    /** Received messages, and {@code cancelled} for each call that was. */
    final List<String> log = new CopyOnWriteArrayList<>();

    /** Of every method; a test may replace it. */
    volatile Handler handler = (message, replies) -> {
        replies.onNext("re " + message);
        replies.onCompleted();
    };

    private final Server server;

    TextService() {
        try {
            server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                    .intercept(new ServerInterceptor() {
                        @Override
                        public <Q, R> ServerCall.Listener<Q> interceptCall(
                                ServerCall<Q, R> call, Metadata received, ServerCallHandler<Q, R> next) {
                            headers.add(received);
                            return next.startCall(call, received);
                        }
                    })
                    .addService(ServerServiceDefinition.builder("test.Texts")
                            .addMethod(UNARY, ServerCalls.asyncUnaryCall(this::one))
                            .addMethod(DOWNLOAD, ServerCalls.asyncServerStreamingCall(this::one))
                            .addMethod(UPLOAD, ServerCalls.asyncClientStreamingCall(this::many))
                            .addMethod(CHAT, ServerCalls.asyncBidiStreamingCall(this::many))
                            .build())
                    .build()
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static MethodDescriptor<String, String> method(MethodType type, String name) {
        return MethodDescriptor.newBuilder(TEXT, TEXT)
                .setType(type)
                .setFullMethodName("test.Texts/" + name)
                .build();
    }

    private void one(String message, StreamObserver<String> replies) {
        watch(replies);
        log.add(message);
        handler.on(message, replies);
    }

    /** The handler is called at the end with all messages, joined; with {@code !} last, at once. */
    private StreamObserver<String> many(StreamObserver<String> replies) {
        watch(replies);
        StringBuilder all = new StringBuilder();
        return new StreamObserver<>() {
            @Override
            public void onNext(String message) {
                log.add(message);
                all.append(message);
                if (message.endsWith("!")) {
                    handler.on(message, replies);
                }
            }

            @Override
            public void onError(Throwable failure) {
                log.add("cancelled");
            }

            @Override
            public void onCompleted() {
                handler.on(all.toString(), replies);
            }
        };
    }

    private void watch(StreamObserver<String> replies) {
        ((ServerCallStreamObserver<String>) replies).setOnCancelHandler(() -> log.add("cancelled"));
    }

    static Handler failing(Status status) {
        return (message, replies) -> replies.onError(status.asRuntimeException());
    }

    String address() {
        return "127.0.0.1:" + server.getPort();
    }

    @Override
    public void close() {
        server.shutdownNow();
    }

    private static final class TextMarshaller implements Marshaller<String> {
        @Override
        public InputStream stream(String value) {
            return new ByteArrayInputStream(value.getBytes(StandardCharsets.UTF_8));
        }

        @Override
        public String parse(InputStream stream) {
            try {
                return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
