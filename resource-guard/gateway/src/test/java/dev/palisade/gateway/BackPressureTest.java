package dev.palisade.gateway;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpObject;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ResponseHeaders;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * A slow reader on either side stops the sender on the other: what is on its way is bounded, however long the body is.
 */
class BackPressureTest {
    private static final int CHUNK = 64 << 10;
    private static final long TOTAL = 40L << 20;

    /** Buffers of four sockets and of the HTTP library; half of what is sent. */
    private static final long ON_THE_WAY_MAX = 20L << 20;

    /** Stays behind: gateways are closed in the background. */
    @TempDir(cleanup = CleanupMode.NEVER)
    Path directory;

    private final PlainService service = new PlainService();

    @AfterEach
    void stop() {
        service.close();
    }

    /** Reads nothing until it is told to, and counts then. */
    private static final class Reader implements Subscriber<HttpObject> {
        private final AtomicLong received = new AtomicLong();
        private final CompletableFuture<Subscription> begun = new CompletableFuture<>();
        private final HttpResponseWriter reply = HttpResponse.streaming();

        @Override
        public void onSubscribe(Subscription subscription) {
            begun.complete(subscription);
        }

        @Override
        public void onNext(HttpObject object) {
            if (object instanceof HttpData data) {
                received.addAndGet(data.length());
            }
        }

        @Override
        public void onError(Throwable failure) {
            reply.close(failure);
        }

        @Override
        public void onComplete() {
            reply.write(ResponseHeaders.of(HttpStatus.OK));
            reply.close();
        }
    }

    @Test
    void slowServiceStopsTheClient() throws Exception {
        Reader reader = new Reader();
        service.handler = (context, request) -> {
            request.subscribe(reader);
            return reader.reply;
        };
        try (GatewayFixture gateway = new GatewayFixture(directory, service);
                Socket client = gateway.connect()) {
            AtomicLong sent = new AtomicLong();
            OutputStream out = client.getOutputStream();
            out.write(("PUT /items/1 HTTP/1.1\r\nHost: x\r\nFencing-Sequencer: " + gateway.locks.exclusive("items/1", 7)
                            + "\r\nContent-Length: " + TOTAL + "\r\n\r\n")
                    .getBytes(US_ASCII));
            CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> write(out, sent));
            awaitStandstill(sent);
            assertThat(sent.get()).isPositive().isLessThan(ON_THE_WAY_MAX);

            reader.begun.join().request(Long.MAX_VALUE);
            sending.join();
            assertThat(OutcomeTest.head(client.getInputStream())).startsWith("HTTP/1.1 200 ");
            assertThat(reader.received).hasValue(TOTAL);
        }
    }

    private static void write(OutputStream out, AtomicLong sent) {
        try {
            byte[] chunk = new byte[CHUNK];
            for (long left = TOTAL; left > 0; left -= CHUNK) {
                out.write(chunk);
                sent.addAndGet(CHUNK);
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void awaitStandstill(AtomicLong count) {
        AtomicLong last = new AtomicLong(-1);
        await().atMost(Duration.ofSeconds(60))
                .pollInterval(Duration.ofMillis(300))
                .until(() -> count.get() > 0 && last.getAndSet(count.get()) == count.get());
    }

    @Test
    void slowClientStopsTheService() throws Exception {
        AtomicLong sent = new AtomicLong();
        service.handler = (context, request) -> {
            HttpResponseWriter reply = HttpResponse.streaming();
            reply.write(ResponseHeaders.of(HttpStatus.OK));
            var unused = request.subscribe();
            next(reply, sent);
            return reply;
        };
        try (GatewayFixture gateway = new GatewayFixture(directory, service);
                Socket client = gateway.connect()) {
            client.getOutputStream()
                    .write(("GET /items/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nFencing-Sequencer: "
                                    + gateway.locks.exclusive("items/1", 7) + "\r\n\r\n")
                            .getBytes(US_ASCII));
            awaitStandstill(sent);
            assertThat(sent.get()).isPositive().isLessThan(ON_THE_WAY_MAX);

            InputStream in = client.getInputStream();
            assertThat(OutcomeTest.head(in)).startsWith("HTTP/1.1 200 ");
            assertThat(in.transferTo(OutputStream.nullOutputStream())).isGreaterThanOrEqualTo(TOTAL);
        }
    }

    private static void next(HttpResponseWriter reply, AtomicLong sent) {
        if (sent.get() == TOTAL) {
            reply.close();
        } else if (reply.tryWrite(HttpData.wrap(new byte[CHUNK]))) {
            sent.addAndGet(CHUNK);
            var unused = reply.whenConsumed().thenRun(() -> next(reply, sent));
        }
    }
}
