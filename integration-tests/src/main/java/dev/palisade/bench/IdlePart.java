package dev.palisade.bench;

import dev.palisade.bench.Rounds.Contestant;
import dev.palisade.bench.Rounds.Measured;
import dev.palisade.bench.Rounds.Series;
import dev.palisade.scenario.ScenarioFailed;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * What leases cost that are held and nothing else: keep-alives, and nobody's work. One store after the other, so that no server is idle beside
 * a client that is busy with others.
 */
final class IdlePart {
    static final String ONE = "leases that one session holds, and processors meanwhile";
    static final String MANY = "leases that many sessions hold, and processors meanwhile";
    static final String CORE = "% of a core";

    private final Services services;
    private final Rounds rounds;

    IdlePart(Services services, Rounds rounds) {
        this.services = services;
        this.rounds = rounds;
    }

    /** @param leases held in each of {@code sessions} */
    Comparison run(String title, int sessions, int leases) throws InterruptedException {
        Map<String, Series> series = new LinkedHashMap<>();
        for (Store store : services.stores()) {
            series.put(store.contestant(), measure(store, sessions, leases));
        }
        return new Comparison(Part.IDLE, title, Comparison.NO_BASE, series);
    }

    private Series measure(Store store, int sessions, int leases) throws InterruptedException {
        List<HeldLeases> held = new ArrayList<>();
        try (ServerProcess server = services.newServer(store)) {
            try {
                System.err.println("taking leases: " + store.contestant());
                for (int i = 0; i < sessions; i++) {
                    held.add(HeldLeases.take(server.address(), "bench/idle/" + i, leases));
                }
                return rounds.run(store.contestant(), idling(held, services.clocks(store, server)), System.err);
            } finally {
                held.forEach(HeldLeases::close);
            }
        } catch (ScenarioFailed e) {
            return new Series(List.of(), String.valueOf(e.getMessage()));
        }
    }

    private static Contestant idling(List<HeldLeases> held, Map<String, LongSupplier> clocks) {
        return time -> {
            Usage usage = Usage.begin(clocks);
            TimeUnit.NANOSECONDS.sleep(time.toNanos());
            Measured measured =
                    usage.end(held.stream().mapToLong(HeldLeases::count).sum(), Map.of());
            held.forEach(HeldLeases::requireValid);
            return withShares(measured);
        };
    }

    private static Measured withShares(Measured measured) {
        Map<String, Double> shares = new LinkedHashMap<>();
        shares.put("leases", (double) measured.operations());
        long all =
                measured.cpuNanos().values().stream().mapToLong(Long::longValue).sum();
        shares.put(CORE, 100.0 * all / measured.nanos());
        measured.cpuNanos().forEach((process, nanos) -> shares.put(process + " %", 100.0 * nanos / measured.nanos()));
        return new Measured(measured.operations(), measured.nanos(), measured.cpuNanos(), shares);
    }
}
