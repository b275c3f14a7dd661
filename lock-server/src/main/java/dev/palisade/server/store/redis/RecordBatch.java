package dev.palisade.server.store.redis;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * Batch of records for a log in Redis: what the next append writes into which of its {@value #HASHES} hashes. A part of a record is a
 * field {@code <id>:<index>}. Used by one thread at a time.
 */
final class RecordBatch {
    static final int HASHES = 256;
    /** Records with neighbouring numbers lie in one hash: a batch then writes few hashes, and Redis' time is in them. */
    private static final int NEIGHBOURS = 64;

    private final NavigableMap<Integer, Hash> hashes = new TreeMap<>();
    private long growth;

    private static final class Hash {
        final Map<String, byte[]> written = new LinkedHashMap<>();
        final List<String> deleted = new ArrayList<>();
    }

    /** How many parts of records more a log has with this batch. */
    long growth() {
        return growth;
    }

    void put(long id, int index, byte[] body) {
        growth++;
        hashOf(id).written.put(field(id, index), body);
    }

    /** @param updates how many updates the record has had */
    void delete(long id, int updates) {
        growth -= updates + 1;
        Hash hash = hashOf(id);
        for (int index = 0; index <= updates; index++) {
            String field = field(id, index);
            hash.written.remove(field);
            hash.deleted.add(field);
        }
    }

    private Hash hashOf(long id) {
        return hashOf(hash(id));
    }

    private Hash hashOf(int number) {
        return hashes.computeIfAbsent(number, fresh -> new Hash());
    }

    /** Adds what was written after this batch. */
    void add(RecordBatch later) {
        growth += later.growth;
        later.hashes.forEach((number, more) -> {
            Hash hash = hashOf(number);
            hash.written.putAll(more.written);
            hash.written.keySet().removeAll(more.deleted);
            hash.deleted.addAll(more.deleted);
        });
    }

    /** Number of the hash that has record {@code id}. */
    static int hash(long id) {
        return (int) (id / NEIGHBOURS % HASHES);
    }

    private static String field(long id, int index) {
        return id + ":" + index;
    }

    /** Numbers of the hashes, in the order of {@link #addTo}. */
    Iterable<Integer> hashes() {
        return hashes.keySet();
    }

    /** Adds the words of {@code append.lua}. */
    void addTo(List<byte[]> args) {
        for (Hash hash : hashes.values()) {
            args.add(LogWords.number(2L * hash.written.size()));
            args.add(LogWords.number(hash.deleted.size()));
            hash.written.forEach((field, body) -> {
                args.add(Call.bytes(field));
                args.add(body);
            });
            hash.deleted.forEach(field -> args.add(Call.bytes(field)));
        }
    }
}
