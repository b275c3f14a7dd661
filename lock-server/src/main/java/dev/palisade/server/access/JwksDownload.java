package dev.palisade.server.access;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * HTTP download of a JWK set, with a limit of time and size for the whole: a server that sends a byte now and then holds no thread. Does
 * not follow redirects: the operator named the place of the keys. For one thread.
 */
final class JwksDownload {
    private static final int BYTES_MAX = 256 << 10;

    private final HttpRequest request;
    private final long timeoutMillis;
    private final HttpClient client = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.NEVER)
            .build();

    /** @param timeoutMillis of a whole download */
    JwksDownload(URI url, long timeoutMillis) {
        this.request = HttpRequest.newBuilder(url).build();
        this.timeoutMillis = timeoutMillis;
    }

    /** @throws IOException in one line, when there is no whole text in time */
    String text() throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        CompletableFuture<HttpResponse<Void>> response = client.sendAsync(
                request,
                head -> BodySubscribers.ofByteArrayConsumer(part -> part.ifPresent(bytes -> {
                    if (body.size() + bytes.length > BYTES_MAX) {
                        throw new IllegalStateException("it has more than " + (BYTES_MAX >> 10) + " KiB");
                    }
                    body.writeBytes(bytes);
                })));
        try {
            int status = response.get(timeoutMillis, TimeUnit.MILLISECONDS).statusCode();
            if (status != 200) {
                throw new IOException("HTTP " + status);
            }
            return body.toString(StandardCharsets.UTF_8);
        } catch (ExecutionException e) {
            throw new IOException(String.valueOf(e.getCause()), e);
        } catch (TimeoutException e) {
            throw new IOException("no whole response within " + timeoutMillis + " ms", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted");
        } finally {
            response.cancel(true); // Closes the connection of one that is not complete.
        }
    }
}
