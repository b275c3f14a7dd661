package dev.palisade.examples.api;

import dev.palisade.client.PalisadeClient;
import io.grpc.ChannelCredentials;
import io.grpc.ClientInterceptor;
import io.grpc.TlsChannelCredentials;
import java.io.File;
import java.io.IOException;

final class ConnectTls {
    private ConnectTls() {}

    static PalisadeClient connect(ClientInterceptor tracing) throws IOException {
        // snippet
        ChannelCredentials tls = TlsChannelCredentials.newBuilder()
                .trustManager(new File("ca.pem"))
                .keyManager(new File("client.pem"), new File("client-key.pem")) // mutual TLS only
                .build();
        PalisadeClient palisade = PalisadeClient.builder()
                .target("dns:///locks.example.com:7600")
                .credentials(tls)
                .channel(channel -> channel.intercept(tracing))
                .build();
        // end
        return palisade;
    }
}
