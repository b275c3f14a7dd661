package dev.palisade.server.store.redis;

import io.lettuce.core.cluster.SlotHash;
import java.util.List;

/** Names of the keys of a log in Redis. All have one hash tag, so that one node of a cluster keeps them. Immutable. */
final class RedisLogKeys {
    private final String tag;

    RedisLogKeys(String prefix) {
        this.tag = prefix + ":{0}:";
    }

    /** In a cluster. */
    int slot() {
        return SlotHash.getSlot(head());
    }

    String head() {
        return tag + "log:head";
    }

    String tokens() {
        return tag + "log:token";
    }

    String batches(long generation) {
        return tag + "log:" + generation;
    }

    /** For a claim: with those of which a lock server of an earlier release keeps at least one. */
    List<byte[]> shared() {
        return List.of(Call.bytes(head()), Call.bytes(tokens()), Call.bytes(tag + "token"), Call.bytes(tag + "epoch"));
    }

    List<byte[]> append(long generation) {
        return List.of(Call.bytes(head()), Call.bytes(tokens()), Call.bytes(batches(generation)));
    }
}
