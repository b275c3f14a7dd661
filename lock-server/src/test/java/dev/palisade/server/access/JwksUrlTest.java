package dev.palisade.server.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.nimbusds.jose.jwk.ECKey;
import com.sun.net.httpserver.HttpServer;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Keys of a real HTTP server that hangs, fails and rotates them, and the tokens that need them; time is in the test's hand. */
class JwksUrlTest {
    private static final ECKey OLD = JwtIssuer.ec("old");
    private static final ECKey NEW = JwtIssuer.ec("new");

    private final AtomicLong nanos = new AtomicLong();
    private final AtomicInteger requests = new AtomicInteger();
    private final ExecutorService fetching = Executors.newSingleThreadExecutor();
    private final ExecutorService verifying = Executors.newSingleThreadExecutor();
    private volatile int status = 200;
    private volatile String body = JwtIssuer.jwks(OLD);
    private volatile @Nullable CountDownLatch hanging;
    private HttpServer server;
    private URI url;

    @BeforeEach
    void serve() throws Exception {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", exchange -> {
            requests.incrementAndGet();
            CountDownLatch until = hanging;
            if (until != null) {
                try {
                    until.await();
                } catch (InterruptedException e) {
                    return;
                }
            }
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            if (status == 302) {
                exchange.getResponseHeaders().add("location", "/elsewhere");
            }
            exchange.sendResponseHeaders(status, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
        server.start();
        url = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/jwks");
    }

    @AfterEach
    void stop() {
        server.stop(0);
        fetching.shutdownNow();
        verifying.shutdownNow();
    }

    private Instant now() {
        return Instant.ofEpochSecond(1_800_000_000).plusNanos(nanos.get());
    }

    private JwtAuthenticator open() throws Exception {
        return JwtAuthenticator.open(settings(url.toString()), fetching, verifying, nanos::get, this::now);
    }

    private static JwtSettings settings(String jwks) {
        return new JwtSettings(JwtIssuer.ISSUER, JwtIssuer.AUDIENCE, jwks, "sub", Duration.ZERO);
    }

    private String token(ECKey key) {
        return JwtIssuer.signed(key, JwtIssuer.claims(now().plusSeconds(36_000)));
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    private static RejectedException refusal(JwtAuthenticator jwts, String token) {
        try {
            jwts.authenticate(token).orTimeout(60, TimeUnit.SECONDS).join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof RejectedException refused) {
                return refused;
            }
            throw e;
        }
        throw new AssertionError("accepted");
    }

    /** What the timer does, after this time and the fetch that it may begin. */
    private boolean after(JwtAuthenticator jwts, long passed) throws Exception {
        nanos.addAndGet(passed);
        jwts.keys().reload();
        get(jwts.keys().fetch());
        return jwts.keys().reload();
    }

    @Test
    void aTokenSignedWithANewKeyWaitsForItsFetch() throws Exception {
        JwtAuthenticator jwts = open();
        assertThat(get(jwts.authenticate(token(OLD))).principal()).isEqualTo("jwt:alice");
        body = JwtIssuer.jwks(NEW);
        nanos.addAndGet(JwksUrl.INTERVAL_NANOS);
        assertThat(get(jwts.authenticate(token(NEW))).principal()).isEqualTo("jwt:alice");
        assertThat(refusal(jwts, token(OLD)))
                .as("its key was withdrawn")
                .hasMessageContaining("not one of the issuer's");
        assertThat(requests).hasValue(2);
    }

    @Test
    void aWithdrawnKeyEndsCachedTokensAtTheNextFetch() throws Exception {
        JwtAuthenticator jwts = open();
        String token = token(OLD);
        get(jwts.authenticate(token));
        assertThat(jwts.authenticate(token)).as("cached").isCompleted();
        assertThat(after(jwts, JwksUrl.REFRESH_NANOS + 1)).as("the same keys").isFalse();
        assertThat(jwts.authenticate(token)).as("still cached").isCompleted();
        body = JwtIssuer.jwks(NEW);
        assertThat(after(jwts, JwksUrl.REFRESH_NANOS + 1)).as("other keys").isTrue();
        assertThat(refusal(jwts, token)).hasMessageContaining("not one of the issuer's");
    }

    @Test
    void aFloodOfUnknownKeysCostsOneFetchPerInterval() throws Exception {
        JwtAuthenticator jwts = open();
        get(jwts.authenticate(token(OLD)));
        nanos.addAndGet(JwksUrl.INTERVAL_NANOS);
        CountDownLatch until = new CountDownLatch(1);
        hanging = until;
        String unknown = token(JwtIssuer.ec("unknown"));
        List<CompletableFuture<JwtIdentity>> flood = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            flood.add(jwts.authenticate(unknown));
        }
        assertThat(get(jwts.authenticate(token(OLD))).principal())
                .as("others are served")
                .isEqualTo("jwt:alice");
        assertThat(flood.stream().filter(future -> !future.isDone()))
                .as("wait for the fetch that hangs")
                .hasSize(JwtAuthenticator.WAITING_MAX);
        until.countDown();
        flood.forEach(future -> assertThatThrownBy(() -> get(future)).hasMessageContaining("not one of the issuer's"));
        assertThat(refusal(jwts, unknown).rejection().reason()).isEqualTo(Reason.UNAUTHENTICATED);
        assertThat(requests).hasValue(2);
        assertThatThrownBy(() -> jwts.authenticateNow(unknown)).hasMessageContaining("not one of the issuer's");
        assertThat(requests).hasValue(2);
    }

    @Test
    void keysThatCannotBeFetchedStayForAnHour() throws Exception {
        JwtAuthenticator jwts = open();
        String token = token(OLD);
        get(jwts.authenticate(token));
        status = 500;
        assertThatThrownBy(() -> after(jwts, JwksUrl.REFRESH_NANOS + 1))
                .isInstanceOf(FileMistakes.class)
                .hasMessageContaining("response code: 500");
        assertThat(jwts.keys().keeps()).contains("stay in use, for 1h");
        assertThat(after(jwts, JwksUrl.INTERVAL_NANOS + 1)).as("reported once").isFalse();
        assertThat(get(jwts.authenticate(token)).principal()).isEqualTo("jwt:alice");
        nanos.addAndGet(JwksUrl.KEPT_NANOS);
        assertThat(refusal(jwts, token)).hasMessageContaining("the issuer's keys could not be fetched");
        assertThatThrownBy(() -> jwts.keys().reload()).isInstanceOf(FileMistakes.class);
        assertThat(jwts.keys().keeps()).contains("JWTs are refused until");
        status = 200;
        after(jwts, JwksUrl.INTERVAL_NANOS + 1);
        assertThat(get(jwts.authenticate(token)).principal()).isEqualTo("jwt:alice");
    }

    @Test
    void whatIsNoKeySetChangesNothing() throws Exception {
        JwtAuthenticator jwts = open();
        get(jwts.authenticate(token(OLD)));
        body = "<html>login</html>";
        assertThatThrownBy(() -> after(jwts, JwksUrl.REFRESH_NANOS + 1)).hasMessageContaining("is no JWK set");
        body = " ".repeat(300 << 10);
        assertThatThrownBy(() -> after(jwts, JwksUrl.INTERVAL_NANOS + 1)).hasMessageContaining("cannot be fetched");
        body = JwtIssuer.jwks(NEW);
        status = 302;
        assertThatThrownBy(() -> after(jwts, JwksUrl.INTERVAL_NANOS + 1)).hasMessageContaining("HTTP 302");
        assertThat(get(jwts.authenticate(token(OLD))).principal()).isEqualTo("jwt:alice");
    }

    @Test
    void aServerStartsWhileTheIssuerIsDown() throws Exception {
        status = 503;
        JwtAuthenticator jwts = open();
        assertThat(refusal(jwts, token(OLD))).hasMessageContaining("the issuer's keys could not be fetched");
        status = 200;
        nanos.addAndGet(JwksUrl.INTERVAL_NANOS);
        assertThat(get(jwts.authenticate(token(OLD))).principal()).isEqualTo("jwt:alice");
    }

    @Test
    void aCachedTokenEndsWithItsExpiry() throws Exception {
        JwtAuthenticator jwts = open();
        String token = JwtIssuer.signed(OLD, JwtIssuer.claims(now().plusSeconds(10)));
        assertThat(get(jwts.authenticate(token)).expiresAt()).isEqualTo(now().plusSeconds(10));
        nanos.addAndGet(TimeUnit.SECONDS.toNanos(9));
        assertThat(jwts.authenticate(token)).isCompleted();
        nanos.addAndGet(TimeUnit.SECONDS.toNanos(2));
        assertThat(refusal(jwts, token)).hasMessageContaining("Expired JWT");
    }

    @Test
    void tokensBeyondTheQueueAreToldToComeBack() throws Exception {
        JwtAuthenticator jwts = JwtAuthenticator.open(
                settings(url.toString()),
                fetching,
                task -> {
                    throw new RejectedExecutionException();
                },
                nanos::get,
                this::now);
        assertThat(refusal(jwts, token(OLD)).rejection().reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
    }

    @Test
    void aFileOfKeysIsReadAgain(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("jwks.json"), JwtIssuer.jwks(OLD));
        JwtAuthenticator jwts =
                JwtAuthenticator.open(settings(file.toString()), fetching, verifying, nanos::get, this::now);
        assertThat(jwts.authenticateNow(token(OLD)).principal()).isEqualTo("jwt:alice");
        Files.writeString(file, JwtIssuer.jwks(OLD, NEW));
        jwts.keys().reload();
        assertThat(jwts.keys().reload()).isTrue();
        assertThat(get(jwts.authenticate(token(NEW))).principal()).isEqualTo("jwt:alice");
        Files.writeString(file, "{");
        jwts.keys().reload();
        assertThatThrownBy(() -> jwts.keys().reload()).hasMessageContaining("is no JWK set");
        assertThat(jwts.authenticateNow(token(NEW)).principal()).isEqualTo("jwt:alice");
    }
}
