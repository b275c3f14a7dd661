package dev.palisade.sessions;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.faults.Link;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A session with more leases than one message to the server could name. */
class ManyLeasesIT {
    private static final int LEASES = 5_000;
    private static final int NAME_BYTES_MAX = 256;
    private static final Duration TTL = Duration.ofSeconds(30);

    @Test
    void leasesWithTheLongestNamesAreKeptWhenTheConnectionBreaks() {
        try (Scene scene = new Scene()) {
            Link link = scene.link();
            PalisadeClient client = scene.client("holder", link.address());
            List<CompletableFuture<AcquireResult>> asked = new ArrayList<>();
            for (int i = 0; i < LEASES; i++) {
                String end = "/" + i;
                String lock = "n".repeat(NAME_BYTES_MAX - end.length()) + end;
                asked.add(client.acquireAsync(
                        lock, AcquireOptions.waiting(Scene.PATIENCE).ttl(TTL)));
            }
            List<Lease> leases =
                    asked.stream().map(Scene::await).map(Scene.Watched::lease).toList();
            long cut = System.nanoTime();
            link.cut();
            Scene.eventually().until(() -> leases.stream().allMatch(lease -> isConfirmedSince(cut, lease)));
            assertThat(client.stats().reconnects()).isEqualTo(1);
        }
    }

    private static boolean isConfirmedSince(long nanos, Lease lease) {
        Duration left = TTL.minus(Scene.since(nanos)).minusMillis(100);
        return lease.validFor().compareTo(left) >= 0;
    }
}
