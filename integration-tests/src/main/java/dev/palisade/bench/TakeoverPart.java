package dev.palisade.bench;

import dev.palisade.bench.Rounds.Contestant;
import dev.palisade.bench.Rounds.Measured;
import dev.palisade.bench.Rounds.Series;
import dev.palisade.client.FewThreads;
import dev.palisade.client.PalisadeClient;
import dev.palisade.scenario.ScenarioFailed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * How long a caller waits for a lock when the active lock server ends and another one takes over. Each session holds
 * leases, which have to outlast it, and takes one more lock again and again, also for a round's time after the
 * takeover.
 */
final class TakeoverPart {
    static final String P50 = "p50, s";
    static final String P99 = "p99, s";
    static final String LONGEST = "longest, s";

    /** How the active lock server ends. */
    enum End {
        KILLED,
        STOPPED
    }

    private final Services services;
    private final Rounds rounds;
    private final Duration connected;

    /** @param connected as in {@link Sizes} */
    TakeoverPart(Services services, Rounds rounds, Duration connected) {
        this.services = services;
        this.rounds = rounds;
        this.connected = connected;
    }

    static String title(End end, boolean many) {
        return "longest wait of " + (many ? "each of many sessions" : "one session")
                + " for a lock while the active lock server is " + (end == End.KILLED ? "killed" : "stopped");
    }

    /** @param leases held in each of {@code sessions} */
    List<Comparison> run(int sessions, int leases) throws InterruptedException {
        Map<End, Map<String, Series>> series = new EnumMap<>(End.class);
        for (Store store : services.stores()) {
            if (store.isShared()) {
                measure(store, sessions, leases)
                        .forEach((end, each) -> series.computeIfAbsent(end, any -> new LinkedHashMap<>())
                                .put(store.contestant(), each));
            }
        }
        List<Comparison> comparisons = new ArrayList<>();
        series.forEach((end, each) ->
                comparisons.add(new Comparison(Part.TAKEOVER, title(end, sessions > 1), Comparison.NO_BASE, each)));
        return comparisons;
    }

    private Map<End, Series> measure(Store store, int sessions, int leases) throws InterruptedException {
        Map<End, Series> series = new EnumMap<>(End.class);
        List<HeldLeases> held = new ArrayList<>();
        try (LockServers servers = new LockServers(services, store);
                FewThreads threads = new FewThreads()) {
            try {
                System.err.println("taking leases: " + store.contestant());
                for (int i = 0; i < sessions; i++) {
                    PalisadeClient.Builder client = PalisadeClient.builder().servers(servers.addresses());
                    held.add(HeldLeases.take(threads.run(client), "bench/takeover/" + i, leases));
                }
                for (End end : End.values()) {
                    System.err.println(title(end, sessions > 1));
                    series.put(end, rounds.run(store.contestant(), takeover(servers, held, end), System.err));
                }
                TimeUnit.NANOSECONDS.sleep(HeldLeases.TTL.toNanos()); // By then each is renewed, or lost.
                held.forEach(HeldLeases::requireValid);
            } finally {
                held.forEach(HeldLeases::close);
            }
        } catch (ScenarioFailed e) {
            for (End end : End.values()) {
                series.put(end, new Series(List.of(), String.valueOf(e.getMessage())));
            }
        }
        return series;
    }

    private Contestant takeover(LockServers servers, List<HeldLeases> held, End end) {
        return time -> {
            servers.restart();
            TimeUnit.NANOSECONDS.sleep(connected.toNanos());
            long began = System.nanoTime();
            try (SessionProbes probes = new SessionProbes(held)) {
                probes.awaitReplies();
                servers.takeOver(end == End.KILLED);
                probes.awaitRepliesAfter(time);
                Samples waits = probes.longestWaits();
                Map<String, Double> figures = new LinkedHashMap<>();
                figures.put("sessions", (double) waits.count());
                figures.put("leases", (double)
                        held.stream().mapToLong(HeldLeases::count).sum());
                figures.put(P50, waits.micros(50) / 1e6);
                figures.put(P99, waits.micros(99) / 1e6);
                figures.put(LONGEST, waits.micros(100) / 1e6);
                return new Measured(waits.count(), System.nanoTime() - began, Map.of(), figures);
            }
        };
    }
}
