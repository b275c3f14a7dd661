package dev.palisade.server.access;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import java.net.URI;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Asynchronous authentication by JWT, with a cache of verified tokens. Never blocks its caller: signatures are verified on a thread of
 * its own, and tokens with an unknown key wait for a fetch of the keys, so many at a time. Thread-safe.
 */
public final class JwtAuthenticator {
    static final int CACHED_MAX = 10_000;
    /** Tokens that are verified, or wait for a fetch; more are refused at once. */
    public static final int PENDING_MAX = 1_000;

    static final int PENDING_SHARE = 50;
    /** Of these, tokens that wait for a fetch. */
    static final int WAITING_MAX = 100;

    static final int WAITING_SHARE = 10;

    private static final String RETRY_AFTER_MILLIS = "1000";

    private final KeySource keys;
    private final JwtVerifier verifier;
    private final Executor thread;
    private final InstantSource clock;
    private final String issuer;
    private final String shown;
    private final AddressShares pending = new AddressShares(PENDING_MAX, PENDING_SHARE);
    private final AddressShares waiting = new AddressShares(WAITING_MAX, WAITING_SHARE);
    /** By the hash of the token: no token is kept. */
    private final Map<String, Verified> cached = new ConcurrentHashMap<>();

    /** By these keys: another set verifies anew. */
    private record Verified(VerificationKeys keys, JwtIdentity identity) {}

    /**
     * Reads the file of the keys, or begins to fetch them.
     *
     * @param fetching runs fetches, which may take seconds
     * @param verifying rejects tasks when too many wait
     * @throws FileMistakes when the keys are in a file that cannot be used
     */
    public static JwtAuthenticator open(
            JwtSettings settings, Executor fetching, Executor verifying, LongSupplier nanoTime, InstantSource clock)
            throws FileMistakes {
        URI url = settings.url().orElse(null);
        KeySource keys = url == null ? new JwksFile(Path.of(settings.jwks())) : new JwksUrl(url, fetching, nanoTime);
        return new JwtAuthenticator(keys, settings, verifying, clock);
    }

    JwtAuthenticator(KeySource keys, JwtSettings settings, Executor thread, InstantSource clock) {
        this.keys = keys;
        this.verifier = new JwtVerifier(settings, clock);
        this.thread = thread;
        this.clock = clock;
        this.issuer = settings.issuer() + " for audience " + settings.audience();
        this.shown = "JWTs of " + issuer + ", keys of " + keys.source();
    }

    /**
     * Verifies a token, after a fetch of the keys if it names an unknown one. What needs no key is checked at once, on the caller's
     * thread.
     *
     * @param address of the sender: of the places for tokens that wait it has a share
     * @return completed at once for a token that was verified before; fails with {@link RejectedException}: UNAUTHENTICATED, or
     *     LIMIT_EXCEEDED when too many tokens wait to be verified
     */
    public CompletableFuture<JwtIdentity> authenticate(String token, String address) {
        JwtIdentity known = known(token);
        if (known != null) {
            return CompletableFuture.completedFuture(known);
        }
        try {
            var unused = verifier.check(token);
        } catch (RejectedException e) {
            return CompletableFuture.failedFuture(e);
        }
        if (!pending.take(address)) {
            return CompletableFuture.failedFuture(busy());
        }
        CompletableFuture<JwtIdentity> result = new CompletableFuture<>();
        submit(token, address, true, result);
        return result.whenComplete((identity, failure) -> pending.giveBack(address));
    }

    /**
     * Verifies a token on the caller's thread, with the keys of now; an unknown key begins a fetch.
     *
     * @throws RejectedException UNAUTHENTICATED
     */
    public JwtIdentity authenticateNow(String token, String address) {
        JwtIdentity known = known(token);
        JwtIdentity verified = known != null ? known : verify(token);
        if (verified == null) {
            var unused = keys.fetch(address);
            throw unknownKey();
        }
        return verified;
    }

    /** Whether the key that signed the token is none of the issuer's any more. */
    public boolean isWithdrawn(JwtIdentity identity) {
        VerificationKeys now = keys.value();
        return now != null && !now.has(identity.key());
    }

    /** Whether the time has come; of the clock that tokens are verified with. */
    public boolean isPast(Instant instant) {
        return !clock.instant().isBefore(instant);
    }

    /** Such as {@code https://login.example.org for audience locks}. */
    String issuer() {
        return issuer;
    }

    /** Such as {@code JWTs of https://login.example.org for audience locks, keys of jwks.json}. */
    String shown() {
        return shown;
    }

    KeySource keys() {
        return keys;
    }

    private void submit(String token, String address, boolean mayWait, CompletableFuture<JwtIdentity> result) {
        try {
            thread.execute(() -> run(token, address, mayWait, result));
        } catch (RejectedExecutionException e) {
            result.completeExceptionally(busy());
        }
    }

    private void run(String token, String address, boolean mayWait, CompletableFuture<JwtIdentity> result) {
        try {
            JwtIdentity verified = verify(token);
            if (verified != null) {
                result.complete(verified);
            } else if (!mayWait || !waiting.take(address)) {
                throw unknownKey();
            } else {
                var unused = keys.fetch(address).whenComplete((nothing, failure) -> {
                    waiting.giveBack(address);
                    submit(token, address, false, result);
                });
            }
        } catch (RuntimeException | Error e) {
            result.completeExceptionally(e);
        }
    }

    private @Nullable JwtIdentity verify(String token) {
        VerificationKeys now = keys.value();
        JwtIdentity identity = now == null ? null : verifier.verify(token, now);
        if (now != null && identity != null) {
            if (cached.size() >= CACHED_MAX) {
                cached.clear();
            }
            cached.put(UserTokens.hash(token), new Verified(now, identity));
        }
        return identity;
    }

    private @Nullable JwtIdentity known(String token) {
        if (token.length() > JwtVerifier.CHARS_MAX) {
            return null;
        }
        Verified known = cached.get(UserTokens.hash(token));
        return known == null
                        || known.keys() != keys.value()
                        || isPast(known.identity().expiresAt())
                ? null
                : known.identity();
    }

    private RejectedException unknownKey() {
        return verifier.refused(
                keys.value() == null
                        ? "the issuer's keys could not be fetched, see the lock server's log"
                        : "its key is not one of the issuer's");
    }

    private static RejectedException busy() {
        return new Rejection(
                        Reason.LIMIT_EXCEEDED,
                        "too many JWTs wait to be verified; try again in " + RETRY_AFTER_MILLIS + " ms",
                        Map.of(
                                Rejection.LIMIT,
                                "jwts",
                                Rejection.RETRY_AFTER_MILLIS,
                                RETRY_AFTER_MILLIS,
                                Rejection.APPLIED,
                                "no"))
                .asException();
    }
}
