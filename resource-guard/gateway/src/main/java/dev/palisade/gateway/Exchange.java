package dev.palisade.gateway;

import com.linecorp.armeria.client.UnprocessedRequestException;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaders;
import com.linecorp.armeria.common.HttpObject;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.stream.SubscriptionOption;
import com.linecorp.armeria.common.util.Exceptions;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.gateway.UpstreamPool.Instance;
import dev.palisade.guard.Admission;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * One admitted request on its way to the service and its response on the way back, piece by piece: the next piece of
 * the response is requested when the client has taken the last. The response library's own end-of-exchange events are
 * no proof of an end: they report a client's cancel as success. So the admission ends here, where the last piece of
 * the response has come in.
 *
 * <p>Runs on the event loop of the client's connection.
 */
final class Exchange implements Subscriber<HttpObject> {
    /** Bound on what is read of a response whose client has gone; reading it costs less than a quarantine. */
    private static final long DISCARDED_BYTES_MAX = 1 << 20;

    private final EventLoop loop;
    private final CallProtocol protocol;
    private final HttpRequest request;
    private final HttpResponseWriter reply;
    private final Instance instance;
    private final @Nullable Admission admission;
    private final ActivityTimer timer;

    // On the event loop only.
    private @Nullable HttpResponse answer;
    private @Nullable Subscription subscription;
    private @Nullable HttpStatus status;
    private HttpHeaders last = HttpHeaders.of();
    private CompletableFuture<Void> lastReply = CompletableFuture.completedFuture(null);
    private boolean over;
    private boolean timedOut;
    private boolean superseded;
    private boolean discarding;
    private long discarded;

    /** @param admission null when the request is not guarded */
    Exchange(
            EventLoop loop,
            CallProtocol protocol,
            HttpRequest request,
            HttpResponseWriter reply,
            Instance instance,
            @Nullable Admission admission,
            Duration idleTimeout) {
        this.loop = loop;
        this.protocol = protocol;
        this.request = request;
        this.reply = reply;
        this.instance = instance;
        this.admission = admission;
        this.timer = new ActivityTimer(loop, idleTimeout, this::timeOut);
    }

    /** Sends the request with these headers and its own body. */
    void start(RequestHeaders headers) {
        HttpRequest forwarded = request.withHeaders(headers).peekData(data -> timer.touch());
        HttpResponse response = instance.send(forwarded);
        answer = response;
        timer.start();
        response.subscribe(this, loop, SubscriptionOption.WITH_POOLED_OBJECTS);
        if (admission != null) {
            admission.onSuperseded(() -> loop.execute(this::supersede));
        }
        var unused = reply.whenComplete().handle((done, failure) -> {
            if (failure != null) {
                if (admission != null) {
                    admission.callerGone(); // At once: the next frame of its connection may be its next request.
                }
                loop.execute(this::clientGone);
            }
            return null;
        });
    }

    @Override
    public void onSubscribe(Subscription incoming) {
        subscription = incoming;
        incoming.request(1);
    }

    @Override
    public void onNext(HttpObject object) {
        timer.touch();
        if (object instanceof ResponseHeaders headers) {
            if (!headers.status().isInformational()) {
                status = headers.status();
                last = headers;
            }
        } else if (object instanceof HttpHeaders trailers) {
            last = trailers;
        }
        if (admission != null && object instanceof HttpHeaders && reportsUnknownOutcome()) {
            after(admission.outcomeUnknown(), () -> pass(object));
        } else {
            pass(object);
        }
    }

    /**
     * Whether the response itself says that the outcome is unknown. The caller gets it when every guard blocks its
     * next request.
     */
    private boolean reportsUnknownOutcome() {
        return status != null
                && !protocol.isEnd(status, last)
                && (GrpcCall.hasStatus(last) || !status.equals(HttpStatus.OK));
    }

    private void pass(HttpObject object) {
        if (discarding) {
            discard(object);
        } else if (reply.tryWrite(object)) {
            var unused = reply.whenConsumed().handle((done, failure) -> {
                more();
                return null;
            });
        } else {
            more(); // The client has gone; clientGone comes.
        }
    }

    private void discard(HttpObject object) {
        if (object instanceof HttpData data) {
            discarded += data.length();
            data.close();
        }
        if (discarded > DISCARDED_BYTES_MAX) {
            abort();
        } else {
            more();
        }
    }

    private void more() {
        if (subscription != null) {
            subscription.request(1);
        }
    }

    /** The service has answered completely. */
    @Override
    public void onComplete() {
        if (status == null) {
            onError(new IllegalStateException("the response has no headers"));
            return;
        }
        after(end(protocol.isEnd(status, last)), reply::close);
    }

    @Override
    public void onError(Throwable failure) {
        Throwable cause = Exceptions.peel(failure);
        boolean unsent = status == null && cause instanceof UnprocessedRequestException;
        if (unsent) {
            instance.refused();
        }
        after(end(unsent), () -> replyFailure(cause, why(unsent)));
    }

    private void replyFailure(Throwable cause, Rejection why) {
        if (status == null) {
            write(reply, timedOut ? protocol.refusal(HttpStatus.GATEWAY_TIMEOUT, why) : protocol.refusal(why));
            return;
        }
        // Its reader sees that the rest is missing.
        protocol.abortTrailers(why)
                .ifPresentOrElse(
                        trailers -> {
                            if (reply.tryWrite(trailers)) {
                                reply.close();
                            }
                        },
                        () -> reply.close(cause));
    }

    private Rejection why(boolean unsent) {
        if (unsent) {
            return new Rejection(
                    Reason.STORE_UNAVAILABLE,
                    "the service at " + instance + " takes no connection; nothing was applied: try again");
        }
        if (superseded) {
            return new Rejection(
                            Reason.TOKEN_STALE,
                            "a newer grant waits; this call was stopped, what it did before may have been applied:"
                                    + " acquire, read again, redo")
                    .with(Rejection.APPLIED, "unknown");
        }
        String why = timedOut ? "did not answer in time" : "broke off before it had answered";
        return new Rejection(
                Reason.OUTCOME_UNKNOWN,
                "the service at " + instance + " " + why
                        + "; whether the request was applied is not known: read again before you write again");
    }

    /** Writes a whole response; of no effect when the client has gone. */
    static void write(HttpResponseWriter reply, AggregatedHttpResponse response) {
        boolean written = reply.tryWrite(response.headers());
        if (written && !response.content().isEmpty()) {
            written = reply.tryWrite(response.content());
        }
        if (written && !response.trailers().isEmpty()) {
            written = reply.tryWrite(response.trailers());
        }
        if (written) {
            reply.close();
        }
    }

    /**
     * A request of HTTP that was sent whole continues without its client, for the idle timeout: its end is then known, without
     * a quarantine. Until then it keeps the next request of its client out. A gRPC call is cancelled, as its client asked.
     */
    private void clientGone() {
        if (over) {
            return;
        }
        discarding = true;
        if (protocol.canBeCancelled() || !isSent()) {
            abort();
        } else {
            timer.limitTotal(); // A stream of events ends only with its client.
        }
    }

    private boolean isSent() {
        CompletableFuture<Void> sent = request.whenComplete();
        return sent.isDone() && !sent.isCompletedExceptionally();
    }

    /**
     * A newer grant waits. A stream that still waits for its client is aborted at once, since that client may be
     * stopped for good.
     */
    private void supersede() {
        if (protocol.canBeCancelled() && !over && !isSent()) {
            superseded = true;
            abort();
        } else {
            timer.limitTotal();
        }
    }

    private void timeOut() {
        timedOut = true;
        abort();
    }

    private void abort() {
        if (admission != null) {
            var unused = admission.outcomeUnknown();
        }
        if (answer != null) {
            answer.abort();
        }
    }

    /** Completes when the caller may be notified of the end. */
    private CompletionStage<Void> end(boolean known) {
        over = true;
        timer.stop();
        if (admission != null && !known) {
            return admission.outcomeUnknown();
        }
        if (admission != null) {
            admission.close();
        }
        return CompletableFuture.completedStage(null);
    }

    /** Runs {@code what} after {@code stage}, in the order in which this is called. */
    private void after(CompletionStage<Void> stage, Runnable what) {
        CompletableFuture<Void> ordered = lastReply.thenCompose(done -> stage);
        if (ordered.isDone()) {
            what.run();
        } else {
            lastReply = ordered.thenRunAsync(what, loop);
        }
    }
}
