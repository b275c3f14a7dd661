package dev.palisade.guard.s3;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Locale;
import software.amazon.awssdk.http.ContentStreamProvider;
import software.amazon.awssdk.http.ExecutableHttpRequest;
import software.amazon.awssdk.http.HttpExecuteRequest;
import software.amazon.awssdk.http.HttpExecuteResponse;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.SdkHttpFullResponse;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;

/** A real HTTP client on which a test delays, cuts or changes chosen requests. */
final class FaultyHttp implements SdkHttpClient {
    /** What happens to a request instead of being delivered. */
    @FunctionalInterface
    interface Fault {
        HttpExecuteResponse run(Delivery delivery) throws IOException;
    }

    /** Sends the request to the server. */
    @FunctionalInterface
    interface Delivery {
        HttpExecuteResponse send() throws IOException;
    }

    private final SdkHttpClient real = UrlConnectionHttpClient.create();

    /** For each write (PUT, POST) of an object. */
    volatile Fault onWrite = Delivery::send;

    /** For each other request. */
    volatile Fault onRead = Delivery::send;

    volatile boolean dropsConditions;
    volatile boolean dropsIfMatch;
    volatile boolean dropsMetadata;

    @Override
    public ExecutableHttpRequest prepareRequest(HttpExecuteRequest request) {
        SdkHttpRequest http = request.httpRequest();
        boolean writes = http.method() == SdkHttpMethod.PUT || http.method() == SdkHttpMethod.POST;
        HttpExecuteRequest.Builder sent = HttpExecuteRequest.builder().request(changed(http));
        request.contentStreamProvider().ifPresent(body -> {
            byte[] bytes = bytes(body);
            sent.contentStreamProvider(() -> new ByteArrayInputStream(bytes));
        });
        ExecutableHttpRequest delivered = real.prepareRequest(sent.build());
        return new ExecutableHttpRequest() {
            @Override
            public HttpExecuteResponse call() throws IOException {
                return (writes ? onWrite : onRead).run(delivered::call);
            }

            @Override
            public void abort() {
                delivered.abort();
            }
        };
    }

    /** In memory, so that the request can be delivered after the SDK gave it up. */
    private static byte[] bytes(ContentStreamProvider body) {
        try (InputStream stream = body.newStream()) {
            return stream.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private SdkHttpRequest changed(SdkHttpRequest request) {
        return request.toBuilder()
                .applyMutation(builder -> request.headers().keySet().stream()
                        .filter(name -> {
                            String header = name.toLowerCase(Locale.ROOT);
                            return (dropsConditions && header.startsWith("if-"))
                                    || (dropsIfMatch && header.equals("if-match"))
                                    || (dropsMetadata && header.startsWith("x-amz-meta-"));
                        })
                        .forEach(builder::removeHeader))
                .build();
    }

    /** A reply that the server did not give. */
    static HttpExecuteResponse reply(int status) {
        return HttpExecuteResponse.builder()
                .response(SdkHttpFullResponse.builder().statusCode(status).build())
                .build();
    }

    @Override
    public void close() {
        real.close();
    }
}
