package dev.palisade.bench;

import dev.palisade.bench.Rounds.Contestant;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What an admin port costs: pairs on a lock server that measures, beside one that does not. On the fastest store, where the share of
 * the metrics is the largest. Nothing scrapes meanwhile.
 */
final class MetricsPart {
    static final String MEASURED = "with --admin-port";
    static final String PLAIN = "without";
    static final String TITLE = LockParts.PAIRS + ", own locks, metrics, threads: " + MetricsPart.THREADS;

    private static final int THREADS = 64;

    private MetricsPart() {}

    static void run(Services services, LockParts.Sink sink) throws Exception {
        Store store = services.stores().contains(Store.PROCESS)
                ? Store.PROCESS
                : services.stores().iterator().next();
        try (ServerProcess measured = services.newServer(store, "--admin-port", "0");
                ServerProcess plain = services.newServer(store);
                Service ofMeasured = service(services, MEASURED, store, measured);
                Service ofPlain = service(services, PLAIN, store, plain)) {
            Map<String, Contestant> contestants = new LinkedHashMap<>();
            contestants.put(MEASURED, pairs(ofMeasured));
            contestants.put(PLAIN, pairs(ofPlain));
            sink.compare(Part.METRICS, TITLE, PLAIN, contestants);
        }
    }

    private static Service service(Services services, String name, Store store, ServerProcess server) {
        return new Service(name, Library.PALISADE, server.address(), services.clocks(store, server));
    }

    private static Contestant pairs(Service service) {
        Callers callers = new Callers(Threads.ofPlatform(THREADS), false);
        return time -> callers.run(
                service.client(), service.clocks(ProcessHandle.current().pid()), time);
    }
}
