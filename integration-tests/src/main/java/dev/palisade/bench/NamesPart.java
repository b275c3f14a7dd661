package dev.palisade.bench;

import dev.palisade.bench.Rounds.Measured;
import dev.palisade.bench.Rounds.Series;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.ScenarioFailed;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a lock server remembers of names: while they are held, and when all of them have been released and forgotten. */
final class NamesPart {
    static final String TITLE = "names taken and released, and what is in memory after a full collection";
    static final String LEFT = "left, MB";

    /** Less than a reference for each name: what differs from one look to the next. */
    static final double NOTHING_MB = 8;

    private static final Pattern TOTAL = Pattern.compile("^Total +\\d+ +(\\d+)");
    /** How much of all names is held at once, since a session has a limit. */
    private static final int SLICES = 100;

    /** Of these are the names that are taken before the first look. */
    private static final int FILL_SLICES = 20;

    private static final double MB = 1e6;

    private final Services services;
    private final Store store;
    private final int names;
    private final Duration settle;

    private NamesPart(Services services, Store store, int names, Duration settle) {
        this.services = services;
        this.store = store;
        this.names = names;
        this.settle = settle;
    }

    /** @param settle until what is remembered of released locks is gone: more than a minute */
    static Comparison run(Services services, int names, Duration settle) throws InterruptedException {
        Map<String, Series> series = new LinkedHashMap<>();
        for (Store store : services.stores()) {
            if (store == Store.PROCESS) {
                continue; // It keeps the same as one that syncs.
            }
            String contestant = store.contestant();
            System.err.println("names: " + contestant);
            try {
                series.put(
                        contestant, new Series(List.of(new NamesPart(services, store, names, settle).measure()), null));
            } catch (ScenarioFailed e) {
                series.put(contestant, new Series(List.of(), String.valueOf(e.getMessage())));
            }
        }
        return new Comparison(Part.NAMES, TITLE, Comparison.NO_BASE, series);
    }

    private Measured measure() throws InterruptedException {
        // The names of the fill, and those of a minute ago, are still known while the others are taken.
        try (ServerProcess server = store == Store.REDIS
                ? services.newServer(store)
                : services.newServer(store, "--locks-max", Integer.toString(3 * names))) {
            int slice = names / SLICES;
            take(server, "fill", FILL_SLICES, slice); // The history of locks has a bound, and is full from then on.
            Memory before = settled(server);
            Memory held = takeAndLook(server, slice);
            Usage usage = Usage.begin(services.clocks(store, server));
            take(server, "names", SLICES, slice);
            Measured measured = usage.end(names, Map.of());
            Memory after = settled(server);
            Map<String, Double> figures = new LinkedHashMap<>();
            figures.put("names", (double) names);
            figures.put("before, MB", before.heap() / MB);
            figures.put("a held name, B", (double) (held.heap() - before.heap()) / slice);
            figures.put(LEFT, (after.heap() - before.heap()) / MB);
            if (store == Store.REDIS) {
                figures.put("Redis: a held name, B", (double) (held.redis() - before.redis()) / slice);
                figures.put("Redis: " + LEFT, (after.redis() - before.redis()) / MB);
            }
            return new Measured(measured.operations(), measured.nanos(), measured.cpuNanos(), figures);
        }
    }

    private static void take(ServerProcess server, String prefix, int slices, int slice) throws InterruptedException {
        for (int i = 0; i < slices; i++) {
            try (HeldLeases held = HeldLeases.take(server.address(), "bench/" + prefix + "/" + i, slice)) {
                held.requireValid();
            }
        }
    }

    private Memory takeAndLook(ServerProcess server, int slice) throws InterruptedException {
        try (HeldLeases held = HeldLeases.take(server.address(), "bench/held", slice)) {
            Memory memory = look(server);
            held.requireValid();
            return memory;
        }
    }

    private Memory settled(ServerProcess server) throws InterruptedException {
        TimeUnit.NANOSECONDS.sleep(settle.toNanos());
        return look(server);
    }

    private Memory look(ServerProcess server) {
        return new Memory(
                liveBytes(server.pid()), store == Store.REDIS ? services.redis().memory() : 0);
    }

    /** What a JVM's objects take that can be reached, after a full collection. */
    private static long liveBytes(long pid) {
        List<String> command =
                List.of(ServerProcess.jdkTool("jcmd").toString(), Long.toString(pid), "GC.class_histogram");
        try (Child jcmd = Child.start("jcmd", command, Map.of())) {
            return jcmd.remainingOutput().stream()
                    .map(TOTAL::matcher)
                    .filter(Matcher::find)
                    .mapToLong(total -> Long.parseLong(total.group(1)))
                    .findFirst()
                    .orElseThrow(() -> new ScenarioFailed("jcmd tells no total; run this by a JDK, not a JRE"));
        } catch (UncheckedIOException e) {
            throw new ScenarioFailed("there is no jcmd beside java; run this by a JDK, not a JRE");
        }
    }

    /** In bytes; of the Redis zero where there is none. */
    private record Memory(long heap, long redis) {}
}
