package dev.palisade.gateway;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpObject;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.RequestHeaders;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import io.netty.channel.EventLoop;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * Collector of the body of a gRPC request that is one message: its frame is a byte that says whether it is compressed,
 * its length in four bytes, and the message. Ends at the end of the request, at the first byte that is wrong, or when
 * nothing arrives for the idle timeout. Runs on the event loop of the client's connection.
 */
final class UnaryMessage implements Subscriber<HttpObject> {
    /** What gRPC's servers take by default. */
    static final int BYTES_MAX = 4 << 20;

    /** Before the message in its frame. */
    static final int FRAME_BYTES = 5;

    private final RunningRequests requests;
    private final HttpResponseWriter reply;
    private final ActivityTimer timer;
    private final ByteArrayOutputStream received = new ByteArrayOutputStream();
    private final CompletableFuture<byte[]> frame = new CompletableFuture<>();
    private @Nullable Subscription subscription;
    private long length = -1;

    private UnaryMessage(EventLoop loop, RunningRequests requests, HttpResponseWriter reply, Duration idleTimeout) {
        this.requests = requests;
        this.reply = reply;
        this.timer = new ActivityTimer(
                loop,
                idleTimeout,
                () -> refuse("did not arrive whole: nothing came for " + idleTimeout.toMillis() + " ms"));
    }

    /**
     * The whole frame, later, on the event loop. Fails with MALFORMED_REQUEST or LIMIT_EXCEEDED, or as the request does.
     *
     * @param reply ended when the memory for the message is free again
     */
    static CompletableFuture<byte[]> of(
            HttpRequest request,
            EventLoop loop,
            RunningRequests requests,
            HttpResponseWriter reply,
            Duration idleTimeout) {
        UnaryMessage message = new UnaryMessage(loop, requests, reply, idleTimeout);
        message.timer.start();
        request.subscribe(message, loop);
        return message.frame;
    }

    /**
     * @throws RejectedException MALFORMED_REQUEST, when the body can be something else than one protobuf message: the
     *     service might read it otherwise
     */
    static void requireReadable(RequestHeaders headers) {
        String type = headers.get("content-type", "").split(";", 2)[0].strip();
        if (!GrpcCall.isOne(headers)
                || !(type.equalsIgnoreCase("application/grpc") || type.equalsIgnoreCase("application/grpc+proto"))) {
            throw RejectedException.malformed("the message of this call names its lock, and only protobuf is read;"
                    + " send a gRPC call of content type application/grpc. Nothing was forwarded");
        }
        if (headers.contains("content-encoding")) {
            throw RejectedException.malformed("the message of this call names its lock; send it without"
                    + " content-encoding. Nothing was forwarded");
        }
    }

    @Override
    public void onSubscribe(Subscription incoming) {
        subscription = incoming;
        incoming.request(Long.MAX_VALUE); // What may come is bounded below.
    }

    @Override
    public void onNext(HttpObject object) {
        if (frame.isDone() || !(object instanceof HttpData data)) {
            return;
        }
        timer.touch();
        received.writeBytes(data.array());
        if (length < 0 && received.size() >= FRAME_BYTES) {
            begin(received.toByteArray());
        }
        if (length >= 0 && received.size() > FRAME_BYTES + length) {
            refuse("of " + length + " bytes is followed by more; this method takes one message");
        }
    }

    private void begin(byte[] head) {
        if (head[0] != 0) {
            refuse(
                    head[0] == 1
                            ? "is compressed; call this method without compression"
                            : "begins with the byte " + (head[0] & 0xff) + ", which gRPC does not know");
            return;
        }
        long announced = 0;
        for (int i = 1; i < FRAME_BYTES; i++) {
            announced = announced << 8 | (head[i] & 0xff);
        }
        if (announced > BYTES_MAX) {
            refuse("has " + announced + " bytes; where it names the lock, at most " + BYTES_MAX + " are read");
            return;
        }
        int more = RunningRequests.placesFor(announced);
        if (!requests.enter(more)) {
            end();
            frame.completeExceptionally(requests.refusal().asException());
            return;
        }
        var unused = reply.whenComplete().handle((done, failure) -> {
            requests.leave(more);
            return null;
        });
        length = announced;
    }

    @Override
    public void onComplete() {
        if (received.size() < FRAME_BYTES) {
            refuse(received.size() == 0 ? "is missing" : "breaks off after " + received.size() + " bytes");
        } else if (received.size() < FRAME_BYTES + length) {
            refuse("breaks off after " + (received.size() - FRAME_BYTES) + " of " + length + " bytes");
        } else if (!frame.isDone()) {
            timer.stop();
            frame.complete(received.toByteArray());
        }
    }

    @Override
    public void onError(Throwable failure) {
        timer.stop();
        frame.completeExceptionally(failure);
    }

    private void refuse(String why) {
        end();
        frame.completeExceptionally(new Rejection(
                        Reason.MALFORMED_REQUEST,
                        "the message of this call, which names its lock, " + why + "; nothing was forwarded")
                .asException());
    }

    private void end() {
        timer.stop();
        if (subscription != null) {
            subscription.cancel();
        }
    }
}
