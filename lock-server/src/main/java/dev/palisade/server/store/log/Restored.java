package dev.palisade.server.store.log;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockName;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Offer;
import dev.palisade.server.core.Tombstone;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.format.Entry;
import dev.palisade.server.store.log.format.ForceReleased;
import dev.palisade.server.store.log.format.Record;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a journal holds, record by record: the locks, and which records stand for them. Decides nothing; whoever reads it
 * begins anew with {@link LockState#restarted}.
 */
final class Restored implements FencedLog.Loader {
    final Map<LockName, Slot> slots = new HashMap<>();
    final Map<Long, ForceReleased> forced = new HashMap<>();
    final Map<Long, LockName> lockOfRecord = new HashMap<>();
    final List<Long> epochIds = new ArrayList<>();
    /** Older records of a lock that has a newer one. */
    final Set<Long> superseded = new HashSet<>();
    /** Records of which a part is missing: the place of their other parts may be used again, so they are only wrong if not deleted. */
    final Set<Long> incomplete = new HashSet<>();

    private final Progress progress;

    /** Hears every so often while a shared log is read. */
    interface Progress {
        void made() throws LogFailure;
    }

    Restored() {
        this(() -> {});
    }

    Restored(Progress progress) {
        this.progress = progress;
    }

    @Override
    public void progress() throws LogFailure {
        progress.made();
    }

    long highToken;
    long lastMillis;
    long forgottenUntilMillis;

    @Override
    public void record(long id, int index, ByteBuffer body) throws StoreUnusable {
        Record record = parse(id, body);
        try {
            take(id, index, record);
        } catch (RuntimeException e) { // Such as an unknown event of a later release.
            throw new StoreUnusable(
                    "journal record " + id + " cannot be used (" + e.getMessage()
                            + "): use the release that wrote it, or restore the data from a copy",
                    e);
        }
    }

    private void take(long id, int index, Record record) {
        if (record.hasEpoch()) {
            epochIds.add(id);
            highToken = Math.max(highToken, record.getEpoch().getReservedToken());
            lastMillis = Math.max(lastMillis, record.getEpoch().getWrittenAtMillis());
            forgottenUntilMillis =
                    Math.max(forgottenUntilMillis, record.getEpoch().getForgottenUntilMillis());
            return;
        }
        if (record.hasForceReleased()) {
            forced.put(id, record.getForceReleased());
            lastMillis = Math.max(lastMillis, record.getForceReleased().getAtMillis());
            return;
        }
        Entry entry = record.getEntry();
        LockName name = new LockName(entry.getLock());
        lastMillis = Math.max(lastMillis, entry.getAtMillis());
        if (index == 0) {
            Slot slot = slots.computeIfAbsent(name, fresh -> new Slot(LockState.unused(fresh, 0)));
            if (slot.recordId != 0) {
                superseded.add(slot.recordId);
            }
            slot.recordId = id;
            slot.updates = 0;
            slot.state = EventCodec.apply(LockState.unused(name, 0), entry);
            lockOfRecord.put(id, name);
            return;
        }
        Slot slot = slots.get(name);
        if (slot == null || slot.recordId != id || index != slot.updates + 1) {
            incomplete.add(id);
            return;
        }
        slot.updates = index;
        slot.state = EventCodec.apply(slot.state, entry);
    }

    @Override
    public void deleted(long id) {
        LockName name = lockOfRecord.remove(id);
        if (name != null) {
            Slot slot = slots.get(name);
            if (slot != null && slot.recordId == id) {
                slots.remove(name);
            }
        }
        superseded.remove(id);
        epochIds.remove(id);
        forced.remove(id);
        incomplete.remove(id);
    }

    /** The largest token of any grant, offer or end that is known; 0 for none. */
    long highestGranted() {
        long highest = 0;
        for (Slot slot : slots.values()) {
            for (Grant grant : slot.state.holders()) {
                highest = Math.max(highest, grant.token().value());
            }
            for (Offer offer : slot.state.offers()) {
                highest = Math.max(highest, offer.token().value());
            }
            for (Tombstone end : slot.state.tombstones()) {
                highest = Math.max(highest, end.token());
            }
        }
        return highest == 0 ? 0 : highest + FencingToken.PER_GRANT - 1;
    }

    boolean isIncomplete() {
        return !incomplete.isEmpty();
    }

    /** Forgets the locks of which a part is missing; their records remain to be deleted. */
    void dropIncomplete() {
        for (long id : incomplete) {
            LockName name = lockOfRecord.remove(id);
            Slot slot = name == null ? null : slots.get(name);
            if (slot != null && slot.recordId == id) {
                slots.remove(name);
            }
            superseded.remove(id);
        }
    }

    void refuseIncomplete() throws StoreUnusable {
        if (!incomplete.isEmpty()) {
            throw new StoreUnusable("journal record " + Collections.min(incomplete)
                    + " lacks a part; restore the data directory from a copy");
        }
    }

    private Record parse(long id, ByteBuffer body) throws StoreUnusable {
        try {
            Record record = Record.parseFrom(body);
            if (record.getRecordCase() != Record.RecordCase.RECORD_NOT_SET) {
                return record;
            }
        } catch (InvalidProtocolBufferException e) {
            throw new StoreUnusable(
                    "journal record " + id + " cannot be read; restore the data directory from a copy", e);
        }
        throw new StoreUnusable("journal record " + id + " is of a later release; use that release");
    }
}
