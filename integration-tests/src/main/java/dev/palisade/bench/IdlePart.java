package dev.palisade.bench;

import dev.palisade.bench.Rounds.Contestant;
import dev.palisade.bench.Rounds.Measured;
import dev.palisade.scenario.ScenarioFailed;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** What leases cost that are held and nothing else: keep-alives, and nobody's work. */
final class IdlePart implements AutoCloseable {
    static final String ONE = "leases that one session holds, and processors meanwhile";
    static final String MANY = "leases that many sessions hold, and processors meanwhile";
    static final String CORE = "% of a core";

    private final Services services;
    private final LockParts.Sink sink;
    private final String title;
    private final Deque<Runnable> open = new ArrayDeque<>();

    private IdlePart(Services services, LockParts.Sink sink, String title) {
        this.services = services;
        this.sink = sink;
        this.title = title;
    }

    /** @param leases held in each of {@code sessions} */
    static void run(Services services, LockParts.Sink sink, String title, int sessions, int leases) throws Exception {
        try (IdlePart part = new IdlePart(services, sink, title)) {
            part.measure(sessions, leases);
        }
    }

    private void measure(int sessions, int leases) throws Exception {
        Map<String, Contestant> contestants = new LinkedHashMap<>();
        for (Store store : services.stores()) {
            try {
                ServerProcess server = services.newServer(store);
                open.push(server::close);
                HeldLeases[] held = new HeldLeases[sessions];
                for (int i = 0; i < sessions; i++) {
                    held[i] = HeldLeases.take(server.address(), "bench/idle/" + i, leases);
                    open.push(held[i]::close);
                }
                Map<String, LongSupplier> clocks = services.clocks(store, server);
                contestants.put(store.contestant(), time -> {
                    Usage usage = Usage.begin(clocks);
                    TimeUnit.NANOSECONDS.sleep(time.toNanos());
                    Measured measured = usage.end((long) sessions * leases, Map.of());
                    for (HeldLeases session : held) {
                        session.requireValid();
                    }
                    return withShares(measured);
                });
            } catch (ScenarioFailed e) {
                services.leaveOut(title + ", " + store.contestant() + ": " + e.getMessage());
            }
        }
        sink.compare(Part.IDLE, title, Comparison.NO_BASE, contestants);
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

    @Override
    public void close() {
        while (!open.isEmpty()) {
            open.pop().run();
        }
    }
}
