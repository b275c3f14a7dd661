package dev.palisade.examples.api;

import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.contract.grpc.TlsUnusable;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Timer;
import java.util.TimerTask;

final class ReloadTls {
    private ReloadTls() {}

    static PalisadeClient connect(Timer timer) throws TlsUnusable {
        // snippet
        ReloadableTls tls = ReloadableTls.client(
                Path.of("ca.pem"), Path.of("client.pem"), Path.of("client-key.pem"), Instant.now());
        TimerTask reload = new TimerTask() {
            @Override
            public void run() {
                tls.reload(Instant.now()).problems().forEach(System.err::println);
            }
        };
        timer.schedule(reload, 5_000, 5_000);
        PalisadeClient palisade = PalisadeClient.builder()
                .servers("locks.example.com:7600")
                .credentials(tls.channelCredentials())
                .build();
        // end
        return palisade;
    }
}
