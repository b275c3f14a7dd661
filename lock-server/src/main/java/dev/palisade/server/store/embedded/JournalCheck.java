package dev.palisade.server.store.embedded;

import dev.palisade.server.store.StoreUnusable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.activemq.artemis.core.io.SequentialFileFactory;
import org.apache.activemq.artemis.core.journal.RecordInfo;
import org.apache.activemq.artemis.core.journal.impl.JournalFile;
import org.apache.activemq.artemis.core.journal.impl.JournalImpl;
import org.apache.activemq.artemis.core.journal.impl.JournalReaderCallbackAbstract;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks at every byte of a journal before the library reads it. A newest record that was cut off in writing was never
 * answered for and is wiped out; any other damage is refused, and then nothing was changed.
 */
final class JournalCheck {
    private static final Logger LOG = LoggerFactory.getLogger(JournalCheck.class);

    private final Path path;
    private final int fileBytes;
    private final SequentialFileFactory files;
    private final Map<String, Integer> usedBytes = new HashMap<>();

    JournalCheck(Path path, int fileBytes, SequentialFileFactory files) {
        this.path = path;
        this.fileBytes = fileBytes;
        this.files = files;
    }

    /**
     * The library skips what it cannot read. Files have one size, records leave no gaps and nothing follows the last one
     * of a file, so what was skipped shows.
     *
     * @param synced up to where the records were certainly synced: what is bad before it is no torn write
     * @return the checksum of the deletes since the last record
     */
    int run(List<JournalFile> ordered, Optional<SyncWatermark.Position> synced) throws Exception {
        refuseTwins(ordered);
        int[] used = new int[ordered.size()];
        int newest = 0;
        for (int i = 0; i < used.length; i++) {
            used[i] = lastByteUsed(nameOf(ordered.get(i)));
            usedBytes.put(ordered.get(i).getFile().getFileName(), used[i]);
            ((DurableFile) ordered.get(i).getFile()).endsAt(used[i]);
            if (used[i] > JournalImpl.SIZE_HEADER) {
                newest = i; // Files made ready for later are still empty.
            }
        }
        @Nullable Torn torn = null;
        FileCheck check = new FileCheck(0, false, 0);
        for (int i = 0; i < used.length; i++) {
            JournalFile file = ordered.get(i);
            check = check.next(file.getFileID());
            int end = used[i] > JournalImpl.SIZE_HEADER
                    ? JournalImpl.readJournalFile(files, file, check)
                    : JournalImpl.SIZE_HEADER;
            if (check.damaged || end != check.end || (i != newest && (check.lastIsDamaged || used[i] > end))) {
                throw new StoreUnusable(
                        "journal file " + nameOf(file) + " is damaged; restore the data directory from a copy");
            }
            int sound = check.lastIsDamaged ? check.lastStart : end;
            if (i == newest && synced.isPresent()) {
                refuseLoss(synced.get(), nameOf(file), sound);
            }
            if (used[i] > sound) {
                torn = new Torn(nameOf(file), sound, used[i]);
            }
        }
        if (torn != null) {
            LOG.warn(
                    "journal file {}: {} bytes from byte {} on were never completely written and are dropped; no answer"
                            + " depended on them",
                    torn.file,
                    torn.to - torn.from,
                    torn.from);
            torn.wipe();
        }
        return check.deletes;
    }

    /** By the name of each file: its bytes up to the last that is not zero. */
    Map<String, Integer> usedBytes() {
        return usedBytes;
    }

    /** Records that were synced are missing at the end, or bad. A watermark in an older file was moved past by the newest. */
    private void refuseLoss(SyncWatermark.Position synced, Path newest, int sound) throws StoreUnusable {
        SyncWatermark.Position found = new SyncWatermark.Position(String.valueOf(newest.getFileName()), sound);
        if (synced.isAfter(found) && Files.exists(path.resolve(synced.file()))) {
            throw new StoreUnusable("journal file " + path.resolve(synced.file()) + " is damaged: records up to byte "
                    + synced.bytes() + " were synced and are not there; restore the data directory from a copy");
        }
    }

    /** A copy of a file beside it. */
    private void refuseTwins(List<JournalFile> ordered) throws StoreUnusable {
        Map<Long, Path> byId = new HashMap<>();
        for (JournalFile file : ordered) {
            Path twin = byId.put(file.getFileID(), nameOf(file));
            if (twin != null) {
                throw new StoreUnusable("journal files " + twin + " and " + nameOf(file)
                        + " are the same file twice, so one is damaged; restore the data directory from a copy");
            }
        }
    }

    private Path nameOf(JournalFile file) {
        return path.resolve(file.getFile().getFileName());
    }

    private int lastByteUsed(Path file) throws IOException, StoreUnusable {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            if (channel.size() != fileBytes) {
                throw new StoreUnusable("journal file " + file + " has " + channel.size() + " bytes, not " + fileBytes
                        + ": it was cut; restore the data directory from a copy");
            }
            return UsedBytes.of(channel);
        }
    }

    /** The bytes of a record that was never completely written. */
    private record Torn(Path file, int from, int to) {
        /** As if it had never been begun; otherwise it would be taken for damage once others follow it. */
        void wipe() throws IOException {
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                ByteBuffer zeros = ByteBuffer.allocate(to - from);
                while (zeros.hasRemaining()) {
                    channel.write(zeros, from + (long) zeros.position());
                }
                channel.force(true);
            }
        }
    }

    /** Looks at every record of one file. Only the last may be bad, which its caller judges. */
    private static final class FileCheck extends JournalReaderCallbackAbstract {
        int end = JournalImpl.SIZE_HEADER;
        int lastStart;
        boolean lastIsDamaged;
        boolean damaged;
        private final long fileId;
        /** Whether all deletes since the record before are known. The compactor leaves deletes out, and files go. */
        private boolean follows;

        private int deletes;

        FileCheck(long fileId, boolean follows, int deletes) {
            this.fileId = fileId;
            this.follows = follows;
            this.deletes = deletes;
        }

        FileCheck next(long next) {
            return new FileCheck(next, follows && next == fileId + 1, deletes);
        }

        @Override
        public void onReadAddRecord(RecordInfo record) {
            advance(JournalImpl.SIZE_ADD_RECORD + 1 + record.data.length);
            lastIsDamaged = !isSound(record);
            if (!lastIsDamaged) {
                follows = record.compactCount == 0;
                deletes = 0;
            }
        }

        @Override
        public void onReadUpdateRecord(RecordInfo record) {
            onReadAddRecord(record);
        }

        @Override
        public void onReadDeleteRecord(long id) {
            advance(JournalImpl.SIZE_DELETE_RECORD + 1);
            deletes = Journal.withDelete(deletes, id);
        }

        private void advance(int bytes) {
            damaged |= lastIsDamaged;
            lastIsDamaged = false;
            lastStart = end;
            end += bytes;
        }

        private boolean isSound(RecordInfo record) {
            ByteBuffer data = ByteBuffer.wrap(record.data);
            return data.remaining() >= Journal.HEADER_BYTES
                    && record.getUserRecordType() == Journal.RECORD
                    && data.getInt() == Journal.checksum(record.data)
                    && data.getLong() == record.id
                    && data.getInt() > 0 == record.isUpdate
                    && (data.getInt() == deletes || !follows || record.compactCount > 0);
        }
    }
}
