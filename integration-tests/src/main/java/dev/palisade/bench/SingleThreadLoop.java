package dev.palisade.bench;

import dev.palisade.bench.Rounds.Measured;
import java.lang.management.ManagementFactory;
import java.time.Duration;

/** Benchmark loop that repeats one operation on the calling thread. */
final class SingleThreadLoop {
    private static final int BATCH = 1_000;

    @SuppressWarnings("UnusedVariable") // The write keeps the result alive.
    private static volatile long blackhole;

    /** The operation; its result is used, so that the compiler cannot remove it. */
    interface Work {
        long run(int number) throws InterruptedException;
    }

    private SingleThreadLoop() {}

    static Measured run(Duration time, Work work) throws InterruptedException {
        long cpu = cpuNanos();
        long start = System.nanoTime();
        long until = start + time.toNanos();
        long done = 0;
        long sum = 0;
        int number = 0;
        while (System.nanoTime() - until < 0) {
            for (int i = 0; i < BATCH; i++) {
                sum += work.run(number);
                number = number == Integer.MAX_VALUE ? 0 : number + 1;
            }
            done += BATCH;
        }
        blackhole = sum;
        return new Measured(done, System.nanoTime() - start, cpuNanos() - cpu);
    }

    private static long cpuNanos() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }
}
