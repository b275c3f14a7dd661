package dev.palisade.bench;

import dev.palisade.bench.Rounds.Measured;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/**
 * Clients that want one lock, connected as processes of their own would be. Each holds it until the next has been waiting for a while; what
 * is measured is the time from the call of release by one to the return of acquire at the other.
 */
final class HandOff {
    static final String TITLE = "hand-offs of one lock between two clients";

    /** Longer than any client takes to be in the queue, or to be between two looks. */
    private static final long HELD_NANOS = 2_000_000;

    private final long until;
    /** Who has called acquire and does not have it. */
    private final AtomicInteger waiting = new AtomicInteger();

    private final AtomicInteger handedOn = new AtomicInteger();
    /** When the last release was called; zero before the first. */
    private volatile long releasedNanos;

    private HandOff(Duration time) {
        until = System.nanoTime() + time.toNanos();
    }

    static Measured run(List<Locks> clients, Map<String, LongSupplier> clocks, Duration time)
            throws InterruptedException {
        HandOff handOff = new HandOff(time);
        List<Samples> samples =
                Stream.generate(Samples::new).limit(clients.size()).toList();
        Usage usage = Usage.begin(clocks);
        var unused = Threads.ofPlatform(clients.size())
                .run(time, i -> () -> handOff.takeTurn(clients.get(i), samples.get(i)));
        Samples all = new Samples();
        samples.forEach(all::addAll);
        return usage.end(all.count(), all.figures());
    }

    private void takeTurn(Locks client, Samples samples) throws Exception {
        waiting.incrementAndGet();
        long asked = System.nanoTime();
        Locks.Hold hold = client.acquire("bench/hand-off");
        long got = System.nanoTime();
        waiting.decrementAndGet();
        // Not who came after the release: that is the time of an acquire.
        long released = releasedNanos;
        if (released != 0 && asked - released < 0) {
            samples.add(got - released);
            handedOn.incrementAndGet();
        }
        holdUntilWanted();
        releasedNanos = System.nanoTime();
        hold.release();
    }

    /** Until another has been waiting for a while. At the end of the round nobody will come, unless nobody has yet. */
    private void holdUntilWanted() throws InterruptedException {
        while (waiting.get() == 0 && (handedOn.get() == 0 || System.nanoTime() - until < 0)) {
            TimeUnit.NANOSECONDS.sleep(HELD_NANOS / 4);
        }
        TimeUnit.NANOSECONDS.sleep(HELD_NANOS);
    }
}
