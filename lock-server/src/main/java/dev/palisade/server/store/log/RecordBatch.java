package dev.palisade.server.store.log;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnsafeByteOperations;
import dev.palisade.server.store.log.format.Batch;
import dev.palisade.server.store.log.format.Change;
import java.util.List;

/** Batch of records, which a storage keeps as one value. Used by one thread at a time. */
final class RecordBatch {
    private final Batch.Builder changes = Batch.newBuilder();

    /** @param body not changed afterwards */
    void put(long id, int index, byte[] body) {
        changes.addChanges(
                Change.newBuilder().setId(id).setIndex(index).setBody(UnsafeByteOperations.unsafeWrap(body)));
    }

    void delete(long id) {
        changes.addChanges(Change.newBuilder().setId(id).setDeleted(true));
    }

    /** Adds what was written after this batch. */
    void add(RecordBatch later) {
        changes.addAllChanges(later.changes.getChangesList());
    }

    /** Empty if nothing was written. */
    byte[] bytes() {
        return changes.build().toByteArray();
    }

    /** Reads {@link #bytes}. */
    static List<Change> changes(byte[] bytes) throws InvalidProtocolBufferException {
        return Batch.parseFrom(bytes).getChangesList();
    }
}
