package dev.palisade.bench;

import dev.palisade.bench.Rounds.Measured;
import dev.palisade.scenario.ScenarioFailed;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/** The time that passes, and that processors spend on several processes, from its beginning to its end. */
final class Usage {
    private final Map<String, LongSupplier> clocks;
    private final Map<String, Long> began = new LinkedHashMap<>();
    private final long start;

    private Usage(Map<String, LongSupplier> clocks) {
        this.clocks = clocks;
        clocks.forEach((process, clock) -> began.put(process, clock.getAsLong()));
        start = System.nanoTime();
    }

    /** @param clocks of each process, by what it is, the processor time it has used so far, in nanoseconds */
    static Usage begin(Map<String, LongSupplier> clocks) {
        return new Usage(clocks);
    }

    /** @param figures what else was measured, by its name */
    Measured end(long operations, Map<String, Double> figures) {
        long nanos = System.nanoTime() - start;
        Map<String, Long> used = new LinkedHashMap<>();
        began.forEach((process, before) -> {
            LongSupplier clock = clocks.get(process);
            used.put(process, clock == null ? 0 : clock.getAsLong() - before);
        });
        return new Measured(operations, nanos, used, figures);
    }

    /** The processor time of a process of this machine; what its system counts it in is often 10 ms. */
    static LongSupplier ofProcess(long pid) {
        return () -> ProcessHandle.of(pid)
                .flatMap(process -> process.info().totalCpuDuration())
                .map(Duration::toNanos)
                .orElseThrow(() -> new ScenarioFailed("the processor time of process " + pid
                        + " cannot be read: has it ended, or does this system not tell it?"));
    }

    /** The same of a process and those that it has started, as long as they run. */
    static LongSupplier ofTree(long pid) {
        return () -> Stream.concat(
                        Stream.of(pid),
                        ProcessHandle.of(pid).stream()
                                .flatMap(ProcessHandle::descendants)
                                .map(ProcessHandle::pid))
                .mapToLong(each -> ofProcess(each).getAsLong())
                .sum();
    }
}
