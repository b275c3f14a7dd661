package dev.palisade.server.store.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LogSpaceTest {
    private final LogSpace space = new LogSpace();

    /** Ten batches of ten records each, with ids from 1. */
    private void tens(int batches) {
        for (int number = 1; number <= batches; number++) {
            space.stored(number, (number - 1) * 10 + 1, 100);
        }
    }

    @Test
    void aBatchGoesWhenNoRecordThatBeganUpToItIsKept() {
        tens(200);
        assertThat(space.firstKept(1, 1)).isEqualTo(1);
        assertThat(space.firstKept(1, 1_000)).as("in batch 100").isEqualTo(100);
        assertThat(space.firstKept(1, 1_001)).as("in batch 101").isEqualTo(101);
        assertThat(space.firstKept(1, Long.MAX_VALUE)).as("the last one").isEqualTo(200);
    }

    @Test
    void fewBatchesStayAndManyGoInSeveralSteps() {
        tens(2_000);
        assertThat(space.firstKept(1, LogSpace.DROPS_MIN * 10)).isEqualTo(1);
        assertThat(space.firstKept(1, LogSpace.DROPS_MIN * 10 + 1)).isEqualTo(LogSpace.DROPS_MIN + 1);
        long first = 1;
        int steps = 0;
        for (long next = space.firstKept(1, 20_000); next > first; next = space.firstKept(first, 20_000)) {
            assertThat(next - first).isLessThanOrEqualTo(LogSpace.DROPS_MAX + 1);
            first = next; // In flight: not yet known to be stored.
            if (++steps == 2) {
                space.dropped(first);
            }
        }
        assertThat(first).isGreaterThan(2_000 - LogSpace.DROPS_MIN - 1);
        assertThat(steps).isEqualTo(4);
    }

    @Test
    void batchesThatAreMissingAreNotCounted() {
        space.stored(3, 1, 100);
        space.stored(7, 11, 100);
        space.stored(8, 21, 100);
        assertThat(space.count()).isEqualTo(3);
        assertThat(space.count(1, 8)).isEqualTo(2);
        space.dropped(7);
        assertThat(space.count()).isEqualTo(2);
    }

    @Test
    void aSmallLogIsLeftAsItIs() {
        space.stored(1, 1, (int) LogSpace.SMALL_BYTES);
        assertThat(space.rewritesBelow(1, 11)).isEqualTo(0);
        space.stored(2, 11, 1);
        assertThat(space.rewritesBelow(1, 12)).isEqualTo(12);
        assertThat(space.rewritesBelow(1, 50)).as("those of before").isEqualTo(12);
        assertThat(space.rewritesBelow(12, 50)).as("done").isEqualTo(0);
    }

    /**
     * Locks that change at random, some never: what is kept is bounded by the size of what counts, and the records written anew by those
     * that were written.
     */
    @ParameterizedTest
    @ValueSource(ints = {10, 1_000, 100_000})
    void aLogIsAtMostSomeTimesAsLargeAsItsRecords(int locks) {
        Random random = new Random(5);
        long nextId = 1;
        long first = 1;
        long number = 1;
        long asked = 0;
        long rewritten = 0;
        TreeMap<Long, Integer> lockOf = new TreeMap<>();
        long[] idOf = new long[locks];
        long size = 0;
        long sizeMax = 0;
        TreeMap<Long, Integer> sizes = new TreeMap<>();
        for (int step = 0; step < 60_000; step++) {
            long firstId = nextId;
            int bytes = 0;
            for (int i = 0; i < 10; i++) {
                int lock = step < locks / 10 ? step * 10 + i : random.nextInt(Math.max(1, locks / 10));
                lockOf.remove(idOf[lock]);
                idOf[lock] = nextId;
                lockOf.put(nextId++, lock);
                bytes += 250;
                asked++;
            }
            long below = space.rewritesBelow(lockOf.firstKey(), nextId);
            for (int i = 0; i < 32 && lockOf.firstKey() < below; i++) {
                int lock = lockOf.pollFirstEntry().getValue();
                idOf[lock] = nextId;
                lockOf.put(nextId++, lock);
                bytes += 250;
                rewritten++;
            }
            long next = space.firstKept(first, lockOf.firstKey());
            space.stored(number, firstId, bytes);
            sizes.put(number++, bytes);
            size += bytes;
            space.dropped(next);
            first = next;
            while (sizes.firstKey() < first) {
                size -= sizes.pollFirstEntry().getValue();
            }
            sizeMax = Math.max(sizeMax, size);
        }
        long live = 250L * locks;
        assertThat(sizeMax).isLessThan(LogSpace.SMALL_BYTES + 5 * live + 1_000_000);
        assertThat(rewritten).isLessThan(2 * asked + locks);
    }
}
