package dev.palisade.server.store.log;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.EventLog;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.ownership.ClaimRequest;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.ownership.WriterId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a real product does only at the wrong moment. */
class ReadAheadTest {
    private final Storage storage = new Storage();
    private final ReadAhead ahead = new ReadAhead(storage, new EventLog(line -> {}, () -> 0, 100));
    private final List<List<Long>> loaders = new ArrayList<>();

    /** One primary; batch n adds record n. */
    private static final class Primary {
        final NavigableMap<Long, byte[]> batches = new TreeMap<>();
        final WriterId writer;
        long first = 1;
        boolean hasHistory = true;

        Primary(long writer) {
            this.writer = new WriterId(1, writer);
        }

        Primary append(int more) {
            for (int i = 0; i < more; i++) {
                long number = next();
                RecordBatch batch = new RecordBatch();
                batch.put(number, 0, new byte[] {1});
                batches.put(number, batch.bytes());
            }
            return this;
        }

        void dropBelow(long number) {
            batches.headMap(number).clear();
            first = number;
        }

        long next() {
            return batches.isEmpty() ? first : batches.lastKey() + 1;
        }

        BatchStorage.Contents contents() {
            return new BatchStorage.Contents(
                    1,
                    new BatchSpan(first, next(), batches.size()),
                    hasHistory ? new Position(writer, next() - 1) : Position.NONE);
        }
    }

    /** Reads from a primary that may be another one each time. */
    private static final class Storage implements BatchStorage {
        Primary primary = new Primary(1);
        Runnable betweenLookAndRead = () -> {};

        @Override
        public Optional<Contents> look() {
            Contents found = primary.contents();
            betweenLookAndRead.run();
            return Optional.of(found);
        }

        @Override
        public List<byte @Nullable []> read(long generation, long first, long end) {
            List<byte @Nullable []> read = new ArrayList<>();
            LongStream.range(first, end).forEach(number -> read.add(primary.batches.get(number)));
            return read;
        }

        @Override
        public String pathOf(long generation, long number) {
            return "batch " + number;
        }

        @Override
        public String kind() {
            return "test";
        }

        @Override
        public String name() {
            return "Test log";
        }

        @Override
        public String path() {
            return "here";
        }

        @Override
        public Optional<StoreStatus.SharedLog> status() {
            return Optional.empty();
        }

        @Override
        public Claim claim(ClaimRequest request, String keyId, String settings) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void append(Append append, byte[] bytes, FencedLog.Sent sent) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() {}
    }

    private FencedLog.Loader loader() {
        List<Long> records = new ArrayList<>();
        loaders.add(records);
        return new FencedLog.Loader() {
            @Override
            public void record(long id, int index, ByteBuffer body) {
                records.add(id);
            }

            @Override
            public void deleted(long id) {}
        };
    }

    private boolean readsOn() {
        return ahead.readNext(this::loader);
    }

    private void readsAll() {
        while (readsOn()) {}
    }

    /** The client of a log may be led to another primary between two parts. */
    @Test
    void twoPrimariesAreNotMixed() {
        Primary former = new Primary(1).append(20);
        Primary promoted = new Primary(2).append(24);
        storage.primary = former;
        assertThat(readsOn()).isTrue();
        storage.primary = promoted;
        readsOn();
        storage.primary = former.append(1);
        readsAll();
        assertThat(ahead.take(former.contents())).isPresent();
        assertThat(loaders).hasSize(3);
        assertThat(loaders.get(2)).hasSize(21).doesNotHaveDuplicates();
    }

    @Test
    void batchesThatAreGoneBetweenLookAndReadAreNotReadAgain() {
        storage.primary.append(16);
        readsOn();
        storage.primary.append(16);
        storage.betweenLookAndRead = () -> storage.primary.batches.remove(12L);
        assertThat(readsOn()).isFalse();
        assertThat(readsOn()).as("the hole is still there").isFalse();
        assertThat(ahead.take(storage.primary.contents())).isEmpty();
        assertThat(loaders).hasSize(1);
        storage.primary.dropBelow(13);
        readsAll();
        assertThat(loaders).hasSize(2);
        assertThat(ahead.take(storage.primary.contents())).isPresent();
        assertThat(loaders.get(1)).hasSize(20);
    }

    /** Two logs that lack batches have the same position, and are not the same log. */
    @Test
    void aLogWithoutHistoryIsReadFromItsStart() {
        storage.primary.append(3).hasHistory = false;
        readsAll();
        assertThat(loaders).hasSize(1);
        assertThat(ahead.take(storage.primary.contents())).isEmpty();
    }

    /** A standby may read ahead for months. */
    @Test
    void whatTheActiveServerDropsIsForgotten() {
        for (int i = 0; i < 100; i++) {
            storage.primary.append(50);
            readsAll();
            storage.primary.dropBelow(storage.primary.next() - 10);
        }
        readsAll();
        assertThat(ahead.take(storage.primary.contents()).orElseThrow().space().count())
                .isEqualTo(10);
        assertThat(loaders).hasSize(1);
    }

    @Test
    void whoHasReadAllAsksOncePerClaim() {
        storage.primary.append(8);
        assertThat(readsOn()).isFalse();
        storage.betweenLookAndRead = () -> storage.primary.append(1); // An owner under load.
        assertThat(readsOn()).isFalse();
    }
}
