package dev.palisade.server.store.redis;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * The state of the link to Redis.
 *
 * @param up whether the primary is linked
 * @param primary the primary's address; empty if none is linked
 * @param replicationId of the primary's data; empty if none is linked
 * @param lastFailure one line; empty if there was none
 */
record LinkState(boolean up, String primary, String replicationId, String lastFailure) {
    /** Of now: read on the link's thread, which alone changes it. */
    static LinkState of(RedisLink link) {
        return CompletableFuture.supplyAsync(() -> read(link.locator), link::later)
                .orTimeout(60, TimeUnit.SECONDS)
                .join();
    }

    private static LinkState read(PrimaryLocator locator) {
        Primary primary = locator.linked;
        return primary == null
                ? new LinkState(false, "", "", locator.lastFailure)
                : new LinkState(
                        true,
                        primary.connection().address().toString(),
                        primary.info().replicationId(),
                        locator.lastFailure);
    }
}
