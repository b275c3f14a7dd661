package dev.palisade.guard.s3;

import java.io.IOException;
import java.net.URI;
import org.gaul.s3proxy.S3Proxy;
import org.gaul.s3proxy.auth.AuthenticationType;
import org.gaul.s3proxy.nio2blob.TransientNio2BlobStore;

/** An S3Proxy with its data in memory. It verifies signatures, but its conditional writes are not atomic. */
final class S3ProxyServer implements AutoCloseable {
    static final String USER = "user";
    static final String SECRET = "secret";

    private final S3Proxy server;

    S3ProxyServer() throws Exception {
        server = S3Proxy.builder()
                .endpoint(URI.create("http://127.0.0.1:0"))
                .awsAuthentication(AuthenticationType.AWS_V4, USER, SECRET)
                .blobStore(new TransientNio2BlobStore())
                .build();
        server.start();
    }

    URI endpoint() {
        return URI.create("http://127.0.0.1:" + server.getPort());
    }

    @Override
    public void close() throws IOException {
        try {
            server.stop();
        } catch (Exception e) {
            throw new IOException(e);
        }
    }
}
