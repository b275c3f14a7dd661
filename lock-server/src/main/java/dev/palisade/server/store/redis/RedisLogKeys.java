package dev.palisade.server.store.redis;

import java.util.ArrayList;
import java.util.List;

/** Names of the keys of a log in Redis. All have one hash tag, so that one node of a cluster keeps them. Immutable. */
final class RedisLogKeys {
    private final String tag;

    RedisLogKeys(String prefix) {
        this.tag = prefix + ":{0}:";
    }

    String head() {
        return tag + "log:head";
    }

    String tokens() {
        return tag + "log:token";
    }

    String records(long generation, int hash) {
        return tag + "log:" + generation + ":" + hash;
    }

    /** For a claim: with those of which a server of {@code --machine functions} keeps at least one. */
    List<byte[]> shared() {
        return List.of(Call.bytes(head()), Call.bytes(tokens()), Call.bytes(tag + "token"), Call.bytes(tag + "epoch"));
    }

    /** For an append of {@code batch}. */
    List<byte[]> of(long generation, RecordBatch batch) {
        List<byte[]> keys = new ArrayList<>();
        keys.add(Call.bytes(head()));
        keys.add(Call.bytes(tokens()));
        batch.hashes().forEach(hash -> keys.add(Call.bytes(records(generation, hash))));
        return keys;
    }
}
