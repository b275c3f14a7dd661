package dev.palisade.server.store.log;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnsafeByteOperations;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.format.Batch;
import dev.palisade.server.store.log.format.Change;
import java.nio.ByteBuffer;

/** Batch of records, which a storage keeps as one value. Used by one thread at a time. */
public final class RecordBatch {
    private final Batch.Builder changes = Batch.newBuilder();

    /**
     * What a batch held.
     *
     * @param records how many there were
     * @param lastId the largest of their ids
     * @param firstBatch that was given to {@link #bytes(long)}; 0 if none was
     */
    public record Contents(int records, long lastId, long firstBatch) {}

    /** @param body not changed afterwards */
    public void put(long id, int index, byte[] body) {
        changes.addChanges(
                Change.newBuilder().setId(id).setIndex(index).setBody(UnsafeByteOperations.unsafeWrap(body)));
    }

    public void delete(long id) {
        changes.addChanges(Change.newBuilder().setId(id).setDeleted(true));
    }

    /** Adds what was written after this batch. */
    void add(RecordBatch later) {
        changes.addAllChanges(later.changes.getChangesList());
    }

    public boolean isEmpty() {
        return changes.getChangesCount() == 0;
    }

    /** Empty if nothing was written. */
    byte[] bytes() {
        return changes.build().toByteArray();
    }

    /** @param firstBatch number of the oldest batch that is needed beside this one */
    public byte[] bytes(long firstBatch) {
        return changes.setFirstBatch(firstBatch).build().toByteArray();
    }

    /**
     * Hands over what {@link #bytes} made.
     *
     * @throws InvalidProtocolBufferException when it is something else
     * @throws StoreUnusable as the loader throws it
     */
    public static Contents read(ByteBuffer bytes, FencedLog.Loader loader)
            throws InvalidProtocolBufferException, StoreUnusable {
        Batch batch = Batch.parseFrom(bytes);
        long lastId = 0;
        for (Change change : batch.getChangesList()) {
            lastId = Math.max(lastId, change.getId());
            if (change.getDeleted()) {
                loader.deleted(change.getId());
            } else {
                loader.record(
                        change.getId(), change.getIndex(), change.getBody().asReadOnlyByteBuffer());
            }
        }
        return new Contents(batch.getChangesCount(), lastId, batch.getFirstBatch());
    }
}
