package dev.palisade.bench;

import dev.palisade.bench.Rounds.Contestant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/** The parts that take locks and give them back: each lock service of the run is a contestant. */
final class LockParts {
    static final String PAIRS = "pairs of acquire and release";
    static final int NAMES = 100_000;

    private final Services services;
    private final Sink sink;

    /** Where comparisons go. */
    interface Sink {
        void compare(Part part, String title, String base, Map<String, Contestant> contestants) throws Exception;
    }

    /** What a contestant does with its service. */
    private interface Work {
        Contestant of(Service service, Map<String, LongSupplier> clocks);
    }

    LockParts(Services services, Sink sink) {
        this.services = services;
        this.sink = sink;
    }

    void ownLocks(int callers) throws Exception {
        compare(Part.LOCKS, ownLocksTitle(callers), any -> true, (service, clocks) -> {
            Callers all = new Callers(Threads.ofPlatform(callers), false);
            return time -> all.run(service.client(), clocks, time);
        });
    }

    static String ownLocksTitle(int callers) {
        return PAIRS + ", own locks, threads: " + callers;
    }

    void oneLock(int callers) throws Exception {
        compare(Part.ONE_KEY, oneLockTitle(callers), any -> true, (service, clocks) -> {
            Callers all = new Callers(Threads.ofPlatform(callers), true);
            return time -> all.run(service.client(), clocks, time);
        });
    }

    static String oneLockTitle(int callers) {
        return PAIRS + ", one lock, threads: " + callers;
    }

    void handOff() throws Exception {
        compare(
                Part.HAND_OFF,
                HandOff.TITLE,
                any -> true,
                (service, clocks) -> time -> HandOff.run(service.clients(2), clocks, time));
    }

    void asyncCallers(int callers, int names) throws Exception {
        compare(Part.ASYNC, chainsTitle(callers, names), LockParts::hasNoConnectionEach, (service, clocks) -> {
            AsyncCallers asyncCallers = new AsyncCallers(callers, names);
            return time -> asyncCallers.run(service.client(), clocks, time);
        });
    }

    static String chainsTitle(int callers, int names) {
        return PAIRS + ", own locks, asynchronous callers: " + callers
                + (names == callers ? "" : ", over " + names + " names");
    }

    void virtual(int callers) throws Exception {
        try (VirtualCallers process = VirtualCallers.start()) {
            compare(
                    Part.VIRTUAL,
                    virtualTitle(callers),
                    LockParts::hasNoConnectionEach,
                    (service, clocks) -> time -> process.run(service, callers, time));
        }
    }

    static String virtualTitle(int callers) {
        return PAIRS + ", own locks, virtual threads: " + callers;
    }

    /** Nobody has hundreds of connections to PostgreSQL, and JDBC blocks. */
    private static boolean hasNoConnectionEach(Service service) {
        return service.library() != Library.POSTGRES;
    }

    private void compare(Part part, String title, Predicate<Service> which, Work work) throws Exception {
        Map<String, Contestant> contestants = new LinkedHashMap<>();
        for (Service service : services.running()) {
            if (which.test(service)) {
                contestants.put(
                        service.name(),
                        work.of(service, service.clocks(ProcessHandle.current().pid())));
            }
        }
        sink.compare(part, title, Services.REDISSON, contestants);
    }
}
