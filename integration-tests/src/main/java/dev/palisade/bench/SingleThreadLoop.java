package dev.palisade.bench;

import dev.palisade.bench.Rounds.Measured;
import java.lang.management.ManagementFactory;
import java.time.Duration;

/** Does one thing over and over on the calling thread. */
final class OneThread {
    private static final int BETWEEN_LOOKS = 1_000;

    @SuppressWarnings("UnusedVariable") // That it is written is the point.
    private static volatile long seen;

    /** What is done; its result is looked at, so that it cannot be left out. */
    interface Work {
        long run(int number) throws InterruptedException;
    }

    private OneThread() {}

    static Measured run(Duration time, Work work) throws InterruptedException {
        long cpu = cpuNanos();
        long start = System.nanoTime();
        long until = start + time.toNanos();
        long done = 0;
        long sum = 0;
        int number = 0;
        while (System.nanoTime() - until < 0) {
            for (int i = 0; i < BETWEEN_LOOKS; i++) {
                sum += work.run(number);
                number = number == Integer.MAX_VALUE ? 0 : number + 1;
            }
            done += BETWEEN_LOOKS;
        }
        seen = sum;
        return new Measured(done, System.nanoTime() - start, cpuNanos() - cpu);
    }

    private static long cpuNanos() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }
}
