package dev.palisade.bench;

import dev.palisade.bench.Rounds.Contestant;
import dev.palisade.bench.Rounds.Measured;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.scenario.ScenarioFailed;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** How long after the start of its process a lock server has granted a lock. A round is one start. */
final class StartPart {
    static final String TITLE = "start of a lock server, until it has granted a lock";
    static final String SECONDS = "seconds";

    private StartPart() {}

    static void run(Services services, LockParts.Sink sink) throws Exception {
        Map<String, Contestant> contestants = new LinkedHashMap<>();
        for (Store store : services.stores()) {
            contestants.put(store.contestant(), time -> start(services, store));
        }
        sink.compare(Part.START, TITLE, Comparison.NO_BASE, contestants);
    }

    private static Measured start(Services services, Store store) throws InterruptedException {
        long began = System.nanoTime();
        try (ServerProcess server = services.newServer(store);
                PalisadeClient client = PalisadeClient.connect(server.address());
                Lease lease = client.acquire("bench/start", Duration.ofSeconds(30))) {
            if (!lease.isValid()) {
                throw new ScenarioFailed("the first lease of a new server does not hold");
            }
            long nanos = System.nanoTime() - began;
            return new Measured(1, nanos, Map.of(), Map.of(SECONDS, nanos / 1e9));
        }
    }
}
