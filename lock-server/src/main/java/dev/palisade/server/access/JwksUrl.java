package dev.palisade.server.access;

import com.nimbusds.jose.util.DefaultResourceRetriever;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Cache of the public keys at an issuer's URL. Fetches on a thread of its own, every {@link #REFRESH_NANOS} and when a token names an
 * unknown key, but never twice within {@link #INTERVAL_NANOS}. While fetches fail, the keys stay for {@link #KEPT_NANOS}. Thread-safe, but
 * {@link #reload} is for one thread.
 */
final class JwksUrl implements KeySource {
    static final long REFRESH_NANOS = TimeUnit.MINUTES.toNanos(5);
    static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(10);
    static final long KEPT_NANOS = TimeUnit.HOURS.toNanos(1);
    private static final int TIMEOUT_MILLIS = 5_000;
    private static final int BYTES_MAX = 256 << 10;

    private final URI url;
    private final Executor thread;
    private final LongSupplier nanoTime;
    private final Retriever retriever = new Retriever();
    private final AtomicReference<@Nullable FileMistakes> failure = new AtomicReference<>();
    private volatile @Nullable Fetched fetched;
    private volatile boolean isReplaced;
    private @Nullable CompletableFuture<Void> running;
    private long startedNanos;
    private volatile String reported = "";

    private record Fetched(VerificationKeys keys, long atNanos) {}

    /**
     * Begins the first fetch.
     *
     * @param thread runs one fetch at a time, which may take seconds
     */
    JwksUrl(URI url, Executor thread, LongSupplier nanoTime) {
        this.url = url;
        this.thread = thread;
        this.nanoTime = nanoTime;
        this.startedNanos = nanoTime.getAsLong() - INTERVAL_NANOS;
        var unused = fetch();
    }

    /** Null before the first fetch, and when the last good one is too long ago. */
    @Override
    public @Nullable VerificationKeys value() {
        Fetched last = fetched;
        return last == null || nanoTime.getAsLong() - last.atNanos() > KEPT_NANOS ? null : last.keys();
    }

    @Override
    public String source() {
        return url.toString();
    }

    @Override
    public String keeps() {
        return value() == null
                ? "JWTs are refused until it can be fetched"
                : "its last good keys stay in use, for 1h after they were fetched";
    }

    @Override
    public boolean isUsable() {
        return reported.isEmpty();
    }

    @Override
    public synchronized CompletableFuture<Void> fetch() {
        if (running != null) {
            return running;
        }
        long now = nanoTime.getAsLong();
        if (now - startedNanos < INTERVAL_NANOS) {
            return CompletableFuture.completedFuture(null);
        }
        startedNanos = now;
        CompletableFuture<Void> fetch = new CompletableFuture<>();
        running = fetch;
        thread.execute(() -> {
            try {
                take(now);
            } finally {
                synchronized (this) {
                    running = null;
                }
                fetch.complete(null);
            }
        });
        return fetch;
    }

    private void take(long now) {
        try {
            VerificationKeys keys = VerificationKeys.parse(
                    url, retriever.retrieveResource(url.toURL()).getContent());
            Fetched last = fetched;
            if (last != null && last.keys().sameAs(keys)) {
                keys = last.keys(); // The same object, so that what was verified with it stays cached.
            } else {
                isReplaced = true;
            }
            fetched = new Fetched(keys, now);
            failure.set(null);
        } catch (FileMistakes e) {
            failure.set(e);
        } catch (IOException | RuntimeException e) {
            failure.set(new FileMistakes(url, url + " cannot be fetched (" + e + ")"));
        }
    }

    @Override
    public boolean reload() throws FileMistakes {
        FileMistakes failed = failure.get();
        if (isDue(failed != null)) {
            var unused = fetch();
        }
        // Once when fetches begin to fail, and once when the keys are too old.
        String state = failed == null ? "" : failed.getMessage() + keeps();
        boolean isNews = !state.equals(reported);
        reported = state;
        if (failed != null && isNews) {
            throw failed;
        }
        boolean replaced = isReplaced;
        isReplaced = false;
        return replaced;
    }

    private synchronized boolean isDue(boolean hasFailed) {
        return nanoTime.getAsLong() - startedNanos > (hasFailed ? INTERVAL_NANOS : REFRESH_NANOS);
    }

    /** Does not follow redirects: the operator named the place of the keys. */
    private static final class Retriever extends DefaultResourceRetriever {
        Retriever() {
            super(TIMEOUT_MILLIS, TIMEOUT_MILLIS, BYTES_MAX);
        }

        @Override
        protected HttpURLConnection openHTTPConnection(URL url) throws IOException {
            HttpURLConnection connection = super.openHTTPConnection(url);
            connection.setInstanceFollowRedirects(false);
            return connection;
        }
    }
}
