package dev.palisade.examples;

import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.grpc.BearerTokenFile;
import io.grpc.CompositeChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;

/** A client with TLS and a token. */
final class SecureClient {
    private SecureClient() {}

    static PalisadeClient connect() throws IOException {
        // snippet
        PalisadeClient client = PalisadeClient.builder()
                .servers("locks:7600")
                .credentials(CompositeChannelCredentials.create(
                        TlsChannelCredentials.newBuilder()
                                .trustManager(new File("ca.pem"))
                                .build(),
                        BearerTokenFile.at(Path.of("web-token"))))
                .build();
        // end
        return client;
    }
}
