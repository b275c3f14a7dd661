package dev.palisade.examples.api;

import dev.palisade.client.PalisadeClient;
import java.time.Duration;

final class Connect {
    private Connect() {}

    static PalisadeClient connect() {
        // snippet
        PalisadeClient palisade = PalisadeClient.builder()
                .servers("locks-1:7600", "locks-2:7600") // tried in turn
                .owner("orders-service")
                .callTimeout(Duration.ofSeconds(3))
                .build();
        // end
        return palisade;
    }
}
