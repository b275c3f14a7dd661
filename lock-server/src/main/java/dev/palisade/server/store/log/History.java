package dev.palisade.server.store.log;

import com.google.protobuf.ByteString;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.server.core.Decision;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.HistoryRecorder;
import dev.palisade.server.core.LockState;
import dev.palisade.server.store.log.format.ForceReleased;
import dev.palisade.server.store.log.format.Record;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What happened to the locks, in memory only, but for the forced releases: those are kept apart, so that no traffic pushes
 * them out, each with a record of its own in the journal, which outlives its lock's. Touched by one thread at a time, whose turn it is.
 */
final class History implements HistoryRecorder.Listener {
    /** Forced releases kept, of all locks; the oldest go first. */
    static final int FORCED_MAX = 10_000;

    private final Records records;
    private final Entries ordinary;
    private final Entries forced = new Entries(FORCED_MAX, FORCED_MAX);
    private long numbers;

    /** @param entriesMax of all locks together, forced releases aside */
    History(Records records, int entriesMax) {
        this.records = records;
        this.ordinary = new Entries(entriesMax, HistoryEntry.LISTED_MAX);
    }

    /**
     * Takes a decision down. A forced release is written here, before the lock's own record of it: if only the first of the
     * two reaches the disk, nothing was answered, and the next start finds the lease still held and drops it.
     */
    void take(LockState before, Decision decision, long nowMillis) {
        HistoryRecorder.record(before, decision, nowMillis, this);
    }

    @Override
    public void happened(LockName lock, HistoryEntry told) {
        Entries.Entry entry = new Entries.Entry(lock, told, ++numbers, 0);
        if (told.what() == HistoryEntry.What.FORCE_RELEASED) {
            write(entry);
            keep(entry);
        } else {
            ordinary.add(entry);
        }
    }

    private void write(Entries.Entry entry) {
        entry.recordId = records.add(record(entry.lock, entry.told), at -> rewrite(entry));
    }

    private void rewrite(Entries.Entry entry) {
        long old = entry.recordId;
        write(entry);
        records.delete(old);
    }

    private void keep(Entries.Entry entry) {
        Entries.@Nullable Entry gone = forced.add(entry);
        if (gone != null) {
            records.delete(gone.recordId);
        }
    }

    /** The newest entries of a lock, oldest first. Behind forced releases that are older than all others, some may be missing. */
    List<HistoryEntry> of(LockName lock) {
        Deque<Entries.Entry> unbroken = ordinary.newestOf(lock, HistoryEntry.LISTED_MAX);
        long begins = unbroken.isEmpty() ? Long.MAX_VALUE : unbroken.getFirst().number;
        List<HistoryEntry> all = Stream.concat(
                        unbroken.stream(), forced.newestOf(lock, HistoryEntry.LISTED_MAX).stream())
                .sorted(Comparator.comparingLong(entry -> entry.number))
                .map(entry -> entry.number <= begins ? entry.told.afterGap() : entry.told)
                .toList();
        return all.subList(Math.max(0, all.size() - HistoryEntry.LISTED_MAX), all.size());
    }

    /**
     * Takes the forced releases over that a journal held.
     *
     * @param found by record id; one that was written anew has a larger id than some that are younger
     * @param slots the locks as the journal has them
     */
    void restore(Map<Long, ForceReleased> found, Map<LockName, Slot> slots) {
        Comparator<Map.Entry<Long, ForceReleased>> byAge =
                Comparator.comparingLong(each -> each.getValue().getAtMillis());
        found.entrySet().stream()
                .sorted(byAge.thenComparing(Map.Entry.comparingByKey()))
                .forEach(each -> {
                    ForceReleased written = each.getValue();
                    LockName lock = new LockName(written.getLock());
                    GrantId grant = GrantId.of(written.getGrantId().toByteArray());
                    Slot slot = slots.get(lock);
                    if (slot != null
                            && slot.state.holders().stream()
                                    .anyMatch(held -> held.id().equals(grant))) {
                        records.delete(each.getKey());
                        return;
                    }
                    HistoryEntry told = new HistoryEntry(
                            written.getAtMillis(),
                            HistoryEntry.What.FORCE_RELEASED,
                            written.getToken(),
                            grant,
                            written.getOwner(),
                            written.getDetail());
                    keep(new Entries.Entry(lock, told, ++numbers, each.getKey()));
                });
    }

    /** Forced releases by the ids of their records. */
    Map<Long, Records.Rewriter> kept() {
        Map<Long, Records.Rewriter> kept = new HashMap<>();
        forced.forEach(entry -> kept.put(entry.recordId, at -> rewrite(entry)));
        return kept;
    }

    private static byte[] record(LockName lock, HistoryEntry told) {
        return Record.newBuilder()
                .setForceReleased(ForceReleased.newBuilder()
                        .setLock(lock.value())
                        .setAtMillis(told.atMillis())
                        .setToken(told.token())
                        .setGrantId(ByteString.copyFrom(told.grant().toBytes()))
                        .setOwner(told.owner())
                        .setDetail(told.detail()))
                .build()
                .toByteArray();
    }
}
