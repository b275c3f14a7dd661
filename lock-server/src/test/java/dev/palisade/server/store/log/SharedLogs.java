package dev.palisade.server.store.log;

import java.util.List;
import java.util.Optional;

/** A log in a product of the test's own, shared by any number of clients, whose clock is in the test's hand. */
public interface SharedLogs extends AutoCloseable {
    String NAME = "p";
    long CLAIM_MILLIS = 2_000;
    long SETTLE_MILLIS = 1_000;
    long RECOVERY_MILLIS = 10_000;

    /** Settings of the server at {@code address}: the same at all but {@code other:1}. */
    static String settings(String address) {
        return address.equals("other:1") ? "--claim 3s" : "--claim 2s";
    }

    /** Of a server that signs with one key and compares it with no other. */
    SigningKeys ANY_KEYS = new SigningKeys() {
        @Override
        public String keyId() {
            return "1";
        }

        @Override
        public void check(OwnerKey last) {}

        @Override
        public void replied(Optional<OwnerKey> active) {}
    };

    /** What the product loses at one time. */
    enum Loss {
        ALL,
        BATCHES,
        HEAD,
        /** Those from 40 to 74: of what is left, nothing looks incomplete. */
        LATER_BATCHES
    }

    /** A client for a lock server that clients reach at {@code address}; what is empty is new. */
    default FencedLog open(String address) throws Exception {
        return open(address, ANY_KEYS);
    }

    /** @param keys with which that server signs */
    FencedLog open(String address, SigningKeys keys) throws Exception;

    void pass(long millis);

    /** Every connection breaks. */
    void cut();

    void lose(Loss what);

    /** The product restarts and keeps its data. */
    void restart();

    /** A field of the head: {@code writer}, {@code seq}, {@code generation}, {@code count}. */
    String head(String field);

    /** How many batches of the generation that counts there are. */
    long batches();

    /** Generations of which there are batches. */
    List<String> generations();

    /** Lines of level WARN so far. */
    List<String> warnings();

    @Override
    void close();
}
