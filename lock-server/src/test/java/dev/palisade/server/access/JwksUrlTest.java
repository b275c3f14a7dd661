package dev.palisade.server.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.nimbusds.jose.jwk.ECKey;
import com.sun.net.httpserver.HttpServer;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
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
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Keys of a real HTTP server that hangs, fails and rotates them, and the tokens that need them; time is in the test's hand. */
class JwksUrlTest {
    private static final ECKey OLD = JwtIssuer.ec("old");
    private static final ECKey NEW = JwtIssuer.ec("new");
    private static final String HERE = "192.0.2.1";
    private static final String ELSEWHERE = "192.0.2.2";

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
            jwts.authenticate(token, HERE).orTimeout(60, TimeUnit.SECONDS).join();
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
        get(jwts.keys().fetch(HERE));
        return jwts.keys().reload();
    }

    @Test
    void aTokenSignedWithANewKeyWaitsForItsFetch() throws Exception {
        JwtAuthenticator jwts = open();
        assertThat(get(jwts.authenticate(token(OLD), HERE)).principal()).isEqualTo("jwt:alice");
        body = JwtIssuer.jwks(NEW);
        nanos.addAndGet(JwksUrl.INTERVAL_NANOS);
        assertThat(get(jwts.authenticate(token(NEW), HERE)).principal()).isEqualTo("jwt:alice");
        assertThat(refusal(jwts, token(OLD)))
                .as("its key was withdrawn")
                .hasMessageContaining("not one of the issuer's");
        assertThat(requests).hasValue(2);
    }

    @Test
    void aWithdrawnKeyEndsCachedTokensAtTheNextFetch() throws Exception {
        JwtAuthenticator jwts = open();
        String token = token(OLD);
        get(jwts.authenticate(token, HERE));
        assertThat(jwts.authenticate(token, HERE)).as("cached").isCompleted();
        assertThat(after(jwts, JwksUrl.REFRESH_NANOS + 1)).as("the same keys").isFalse();
        assertThat(jwts.authenticate(token, HERE)).as("still cached").isCompleted();
        body = JwtIssuer.jwks(NEW);
        assertThat(after(jwts, JwksUrl.REFRESH_NANOS + 1)).as("other keys").isTrue();
        assertThat(refusal(jwts, token)).hasMessageContaining("not one of the issuer's");
    }

    @Test
    void aFloodOfUnknownKeysCostsOneFetchPerInterval() throws Exception {
        JwtAuthenticator jwts = open();
        get(jwts.authenticate(token(OLD), HERE));
        nanos.addAndGet(JwksUrl.INTERVAL_NANOS);
        CountDownLatch until = new CountDownLatch(1);
        hanging = until;
        String unknown = token(JwtIssuer.ec("unknown"));
        List<CompletableFuture<JwtIdentity>> flood = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            flood.add(jwts.authenticate(unknown, HERE));
        }
        // On a slow machine half of the flood still waits for the thread that verifies: all places of this address are
        // taken.
        verifying.submit(() -> {}).get(60, TimeUnit.SECONDS);
        assertThat(get(jwts.authenticate(token(OLD), HERE)).principal())
                .as("others are served")
                .isEqualTo("jwt:alice");
        assertThat(flood.stream().filter(future -> !future.isDone()))
                .as("wait for the fetch that hangs; half of the places stay free for other addresses")
                .hasSize(JwtAuthenticator.WAITING_MAX / 2);
        until.countDown();
        // Those beyond the places were refused at once.
        flood.forEach(future -> assertThatThrownBy(() -> get(future))
                .hasMessageMatching(".*(not one of the issuer's|too many JWTs wait to be verified).*"));
        assertThat(refusal(jwts, unknown).rejection().reason()).isEqualTo(Reason.UNAUTHENTICATED);
        assertThat(requests).hasValue(2);
        assertThatThrownBy(() -> jwts.authenticateNow(unknown, HERE)).hasMessageContaining("not one of the issuer's");
        assertThat(requests).hasValue(2);
    }

    /** Whoever sends a key that does not exist, from its own address, delays the rotation of others by a second at most. */
    @Test
    void unknownKeysOfOneAddressDoNotDelayTheNextKeyOfAnother() throws Exception {
        JwtAuthenticator jwts = open();
        get(jwts.authenticate(token(OLD), HERE));
        nanos.addAndGet(JwksUrl.INTERVAL_NANOS);
        String unknown = token(JwtIssuer.ec("unknown"));
        assertThatThrownBy(() -> get(jwts.authenticate(unknown, HERE))).hasMessageContaining("not one of the issuer's");
        body = JwtIssuer.jwks(NEW);
        nanos.addAndGet(JwksUrl.PAUSE_NANOS);
        assertThatThrownBy(() -> get(jwts.authenticate(unknown, HERE))).hasMessageContaining("not one of the issuer's");
        assertThat(requests).as("its share is used up").hasValue(2);
        assertThat(get(jwts.authenticate(token(NEW), ELSEWHERE)).principal()).isEqualTo("jwt:alice");
        assertThat(requests).hasValue(3);
    }

    @Test
    void fetchThatNeverEndsIsGivenUp() throws Exception {
        try (ServerSocket slow = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread drip = new Thread(() -> drip(slow));
            drip.start();
            URI here = URI.create("http://127.0.0.1:" + slow.getLocalPort() + "/");
            JwksUrl keys = new JwksUrl(here, fetching, nanos::get, 200);
            get(keys.fetch(HERE));
            assertThatThrownBy(keys::reload)
                    .isInstanceOf(FileMistakes.class)
                    .hasMessageContaining("no whole response within 200 ms");
            drip.join(60_000);
            assertThat(drip.isAlive()).as("its connection is closed").isFalse();
        }
    }

    /** A byte now and then, for as long as it is read. */
    private static void drip(ServerSocket server) {
        try (Socket socket = server.accept()) {
            OutputStream out = socket.getOutputStream();
            out.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            while (true) {
                out.write(' ');
                LockSupport.parkNanos(20_000_000);
            }
        } catch (IOException e) {
            // Closed by the client.
        }
    }

    /** No signature is verified, and nothing is fetched, for what the claims alone refuse. */
    @Test
    void floodOfWrongClaimsTakesNoPlaces() throws Exception {
        AtomicInteger verified = new AtomicInteger();
        JwtAuthenticator jwts = JwtAuthenticator.open(
                settings(url.toString()),
                fetching,
                task -> {
                    verified.incrementAndGet();
                    verifying.execute(task);
                },
                nanos::get,
                this::now);
        get(jwts.authenticate(token(OLD), HERE));
        List<String> wrong = List.of(
                JwtIssuer.signed(OLD, JwtIssuer.claims(now().minusSeconds(1))),
                JwtIssuer.signed(OLD, JwtIssuer.claims(now().plusSeconds(60)).audience("other")),
                JwtIssuer.signed(
                        JwtIssuer.ec("unknown"),
                        JwtIssuer.claims(now().plusSeconds(60)).issuer("https://other")));
        int before = verified.get();
        for (int i = 0; i < 10_000; i++) {
            assertThat(jwts.authenticate(wrong.get(i % wrong.size()), HERE)).isCompletedExceptionally();
        }
        assertThat(verified).hasValue(before);
        assertThat(requests).hasValue(1);
    }

    @Test
    void oneAddressLeavesHalfOfThePlaces() {
        AddressShares places = new AddressShares(10, 2);
        for (int i = 0; i < 5; i++) {
            assertThat(places.take(HERE)).isTrue();
        }
        assertThat(places.take(HERE)).isFalse();
        assertThat(places.take(ELSEWHERE)).isTrue();
        assertThat(places.take(ELSEWHERE)).isTrue();
        assertThat(places.take(ELSEWHERE)).as("beyond its share").isFalse();
        places.giveBack(HERE);
        places.giveBack(HERE);
        places.giveBack(HERE);
        assertThat(places.take(ELSEWHERE)).as("more than half are free").isTrue();
    }

    @Test
    void keysThatCannotBeFetchedStayForAnHour() throws Exception {
        JwtAuthenticator jwts = open();
        String token = token(OLD);
        get(jwts.authenticate(token, HERE));
        status = 500;
        assertThatThrownBy(() -> after(jwts, JwksUrl.REFRESH_NANOS + 1))
                .isInstanceOf(FileMistakes.class)
                .hasMessageContaining("HTTP 500");
        assertThat(jwts.keys().keeps()).contains("stay in use, for 1h");
        assertThat(after(jwts, JwksUrl.INTERVAL_NANOS + 1)).as("reported once").isFalse();
        assertThat(get(jwts.authenticate(token, HERE)).principal()).isEqualTo("jwt:alice");
        nanos.addAndGet(JwksUrl.KEPT_NANOS);
        assertThat(refusal(jwts, token)).hasMessageContaining("the issuer's keys could not be fetched");
        assertThatThrownBy(() -> jwts.keys().reload()).isInstanceOf(FileMistakes.class);
        assertThat(jwts.keys().keeps()).contains("JWTs are refused until");
        status = 200;
        after(jwts, JwksUrl.INTERVAL_NANOS + 1);
        assertThat(get(jwts.authenticate(token, HERE)).principal()).isEqualTo("jwt:alice");
    }

    @Test
    void whatIsNoKeySetChangesNothing() throws Exception {
        JwtAuthenticator jwts = open();
        get(jwts.authenticate(token(OLD), HERE));
        body = "<html>login</html>";
        assertThatThrownBy(() -> after(jwts, JwksUrl.REFRESH_NANOS + 1)).hasMessageContaining("is no JWK set");
        body = " ".repeat(300 << 10);
        assertThatThrownBy(() -> after(jwts, JwksUrl.INTERVAL_NANOS + 1)).hasMessageContaining("cannot be fetched");
        body = JwtIssuer.jwks(NEW);
        status = 302;
        assertThatThrownBy(() -> after(jwts, JwksUrl.INTERVAL_NANOS + 1)).hasMessageContaining("HTTP 302");
        assertThat(get(jwts.authenticate(token(OLD), HERE)).principal()).isEqualTo("jwt:alice");
    }

    @Test
    void aServerStartsWhileTheIssuerIsDown() throws Exception {
        status = 503;
        JwtAuthenticator jwts = open();
        assertThat(refusal(jwts, token(OLD))).hasMessageContaining("the issuer's keys could not be fetched");
        status = 200;
        nanos.addAndGet(JwksUrl.INTERVAL_NANOS);
        assertThat(get(jwts.authenticate(token(OLD), HERE)).principal()).isEqualTo("jwt:alice");
    }

    @Test
    void aCachedTokenEndsWithItsExpiry() throws Exception {
        JwtAuthenticator jwts = open();
        String token = JwtIssuer.signed(OLD, JwtIssuer.claims(now().plusSeconds(10)));
        assertThat(get(jwts.authenticate(token, HERE)).expiresAt()).isEqualTo(now().plusSeconds(10));
        nanos.addAndGet(TimeUnit.SECONDS.toNanos(9));
        assertThat(jwts.authenticate(token, HERE)).isCompleted();
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
        assertThat(jwts.authenticateNow(token(OLD), HERE).principal()).isEqualTo("jwt:alice");
        Files.writeString(file, JwtIssuer.jwks(OLD, NEW));
        jwts.keys().reload();
        assertThat(jwts.keys().reload()).isTrue();
        assertThat(get(jwts.authenticate(token(NEW), HERE)).principal()).isEqualTo("jwt:alice");
        Files.writeString(file, "{");
        jwts.keys().reload();
        assertThatThrownBy(() -> jwts.keys().reload()).hasMessageContaining("is no JWK set");
        assertThat(jwts.authenticateNow(token(NEW), HERE).principal()).isEqualTo("jwt:alice");
    }
}
