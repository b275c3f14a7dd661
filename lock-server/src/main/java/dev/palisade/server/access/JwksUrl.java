package dev.palisade.server.access;

import java.io.IOException;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Cache of the public keys at an issuer's URL. Fetches on a thread of its own, every {@link #REFRESH_NANOS} and when a token names an
 * unknown key: for one address never twice within {@link #INTERVAL_NANOS}, for all together not within {@link #PAUSE_NANOS}. While fetches fail, the keys stay for {@link #KEPT_NANOS}. Thread-safe, but
 * {@link #reload} is for one thread.
 */
final class JwksUrl implements KeySource {
    static final long REFRESH_NANOS = TimeUnit.MINUTES.toNanos(5);
    static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(10);
    static final long KEPT_NANOS = TimeUnit.HOURS.toNanos(1);
    static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final int TIMEOUT_MILLIS = 5_000;

    private final URI url;
    private final Executor thread;
    private final LongSupplier nanoTime;
    private final JwksDownload download;
    private final AtomicReference<@Nullable FileMistakes> failure = new AtomicReference<>();
    private volatile @Nullable Fetched fetched;
    private volatile boolean isReplaced;
    private @Nullable CompletableFuture<Void> running;
    private long startedNanos;
    /** When each address caused a fetch, within the last interval: as many as there are pauses in it. */
    private final Map<String, Long> causedNanos = new HashMap<>();

    private volatile String reported = "";

    private record Fetched(VerificationKeys keys, long atNanos) {}

    /**
     * Begins the first fetch.
     *
     * @param thread runs one fetch at a time, which may take seconds
     */
    JwksUrl(URI url, Executor thread, LongSupplier nanoTime) {
        this(url, thread, nanoTime, TIMEOUT_MILLIS);
    }

    /** @param timeoutMillis of a whole fetch */
    JwksUrl(URI url, Executor thread, LongSupplier nanoTime, long timeoutMillis) {
        this.download = new JwksDownload(url, timeoutMillis);
        this.url = url;
        this.thread = thread;
        this.nanoTime = nanoTime;
        var unused = fetchAt(nanoTime.getAsLong());
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
    public synchronized CompletableFuture<Void> fetch(String address) {
        long now = nanoTime.getAsLong();
        causedNanos.values().removeIf(caused -> now - caused >= INTERVAL_NANOS);
        if (running == null && (now - startedNanos < PAUSE_NANOS || causedNanos.containsKey(address))) {
            return CompletableFuture.completedFuture(null);
        }
        if (running == null) {
            causedNanos.put(address, now);
        }
        return fetchAt(now);
    }

    private synchronized CompletableFuture<Void> fetchAt(long now) {
        if (running != null) {
            return running;
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
            VerificationKeys keys = VerificationKeys.parse(url, download.text());
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
            failure.set(new FileMistakes(url, url + " cannot be fetched (" + e.getMessage() + ")"));
        }
    }

    @Override
    public boolean reload() throws FileMistakes {
        FileMistakes failed = failure.get();
        if (isDue(failed != null)) {
            var unused = fetchAt(nanoTime.getAsLong());
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
}
