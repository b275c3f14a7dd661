package dev.palisade.contract.grpc;

import io.grpc.CallCredentials;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.SecurityLevel;
import io.grpc.Status;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Call credentials of a bearer token in a file, which is read again while the process runs: a call uses a token that was in the file at
 * most 5 s before, so a token that is replaced there, such as a projected one of Kubernetes, needs no restart. Fails a call with
 * UNAUTHENTICATED, in one line without the token, when the file cannot be used, and when the token would leave the machine without
 * TLS. Give it to a client with {@link io.grpc.CompositeChannelCredentials}. Thread-safe; never blocks a caller's thread.
 */
public final class BearerTokenFile extends CallCredentials {
    /** Longest accepted token. A lock server's own has 52 characters. */
    public static final int CHARS_MAX = 4_096;

    static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(5);

    // Files may be on a disk that hangs, and a client has one thread for its connections.
    private static final Executor READER = Executors.newSingleThreadExecutor(task -> {
        Thread thread = new Thread(task, "palisade-token-file");
        thread.setDaemon(true);
        return thread;
    });

    /** A lock server's token in place of its file's name. */
    private static final Pattern TOKEN = Pattern.compile("palisade_[A-Za-z0-9_-]{43}");

    private final Path path;
    private final String shown;
    private final LongSupplier nanoTime;
    private volatile @Nullable Read last;

    private record Read(Metadata headers, long atNanos) {}

    private BearerTokenFile(Path path, LongSupplier nanoTime) {
        this.path = path;
        this.shown = TOKEN.matcher(path.toString()).replaceAll("palisade_...");
        this.nanoTime = nanoTime;
    }

    /** The file is first read by the first call. It holds the token alone, in one line. */
    public static BearerTokenFile at(Path path) {
        return at(path, System::nanoTime);
    }

    static BearerTokenFile at(Path path, LongSupplier nanoTime) {
        return new BearerTokenFile(path, nanoTime);
    }

    /**
     * Reads the file, to find its mistakes before the first call.
     *
     * @throws IOException in one line, without the token
     */
    public void check() throws IOException {
        var unused = token();
    }

    @Override
    public void applyRequestMetadata(RequestInfo request, Executor unused, MetadataApplier applier) {
        if (request.getSecurityLevel() != SecurityLevel.PRIVACY_AND_INTEGRITY
                && !isLoopback(request.getTransportAttrs().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR))) {
            applier.fail(Status.UNAUTHENTICATED.withDescription("the token of " + shown
                    + " is not sent to another machine without TLS; call the lock server with TLS (--cacert FILE)"));
            return;
        }
        Read read = last;
        if (read != null && nanoTime.getAsLong() - read.atNanos() < FRESH_NANOS) {
            applier.apply(read.headers());
        } else {
            READER.execute(() -> readAndApply(applier));
        }
    }

    private void readAndApply(MetadataApplier applier) {
        long now = nanoTime.getAsLong();
        Metadata headers = new Metadata();
        try {
            headers.put(AUTHORIZATION, "Bearer " + token());
        } catch (IOException | RuntimeException e) {
            applier.fail(Status.UNAUTHENTICATED.withDescription(e.getMessage()));
            return;
        }
        last = new Read(headers, now);
        applier.apply(headers);
    }

    private String token() throws IOException {
        String text;
        try (InputStream in = Files.newInputStream(path)) {
            // The line's end beside the token.
            text = new String(in.readNBytes(CHARS_MAX + 3), StandardCharsets.ISO_8859_1).strip();
        } catch (NoSuchFileException e) {
            throw new IOException("token file " + shown + " does not exist", e);
        } catch (AccessDeniedException e) {
            throw new IOException("token file " + shown + " may not be read by this user", e);
        } catch (IOException e) {
            throw new IOException("token file " + shown + " cannot be read (" + e.getMessage() + ")", e);
        }
        if (text.isEmpty()) {
            throw new IOException("token file " + shown + " is empty; it holds a token in one line");
        }
        if (text.length() > CHARS_MAX || !text.chars().allMatch(c -> c > ' ' && c < 127)) {
            throw new IOException("token file " + shown + " holds no token; it is one line of 1 to " + CHARS_MAX
                    + " printable ASCII characters without a space");
        }
        return text;
    }

    /** Whether the other side is on this machine. A socket of a file system is. */
    static boolean isLoopback(@Nullable SocketAddress address) {
        return address != null
                && (!(address instanceof InetSocketAddress inet)
                        || (inet.getAddress() != null && inet.getAddress().isLoopbackAddress()));
    }

    /** Without the token. */
    @Override
    public String toString() {
        return "token file " + shown;
    }
}
