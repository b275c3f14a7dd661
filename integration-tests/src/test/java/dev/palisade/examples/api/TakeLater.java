package dev.palisade.examples.api;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

final class TakeLater {
    private TakeLater() {}

    static CompletableFuture<Void> run(PalisadeClient palisade, Executor workers) {
        // snippet
        CompletableFuture<Void> done = palisade.acquireAsync("invoices", AcquireOptions.waiting(Duration.ofSeconds(5)))
                .thenAcceptAsync(
                        result -> {
                            if (result instanceof AcquireResult.Granted granted) {
                                try (Lease lease = granted.lease()) {
                                    System.out.println("fencing token " + lease.token());
                                }
                            }
                        },
                        workers); // never on the client's own thread
        // end
        return done;
    }
}
