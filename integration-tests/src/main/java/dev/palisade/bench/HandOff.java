package dev.palisade.bench;

import dev.palisade.bench.Rounds.Measured;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
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

    /** When the last release was called; zero before the first. */
    private volatile long releasedNanos;

    private HandOff() {}

    static Measured run(List<Locks> clients, Map<String, LongSupplier> clocks, Duration time)
            throws InterruptedException {
        HandOff handOff = new HandOff();
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
        long asked = System.nanoTime();
        Locks.Hold hold = client.acquire("bench/hand-off");
        long got = System.nanoTime();
        // Not who came after the release: that is the time of an acquire.
        long released = releasedNanos;
        if (released != 0 && asked - released < 0) {
            samples.add(got - released);
        }
        while (System.nanoTime() - got < HELD_NANOS) {
            LockSupport.parkNanos(HELD_NANOS / 4);
        }
        releasedNanos = System.nanoTime();
        hold.release();
    }
}
