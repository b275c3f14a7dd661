package dev.palisade.server.store.log;

import dev.palisade.server.store.StoreUnusable;
import java.util.Optional;

/**
 * Keys with which a lock server of a shared log signs sequencers, compared with those of the log's other servers: guards verify what each of
 * them signs. Thread-safe.
 */
public interface SigningKeys {
    /** Id of the key that signs now. The log keeps that of its owner. */
    String keyId();

    /**
     * Called before the first claim of a log that has had an owner.
     *
     * @throws StoreUnusable if this server must not be the next owner
     */
    void check(OwnerKey last) throws StoreUnusable;

    /**
     * Called with each reply to a claim.
     *
     * @param active the owner, if that is another server
     */
    void replied(Optional<OwnerKey> active);
}
