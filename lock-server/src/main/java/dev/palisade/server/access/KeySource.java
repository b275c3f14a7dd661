package dev.palisade.server.access;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Source of an issuer's public keys: a file or a URL. */
interface KeySource extends Reloadable {
    /** Last good keys; null when there are none, or none that are new enough. For all threads. */
    @Nullable
    VerificationKeys value();

    /**
     * Fetches the keys, because a token names an unknown one. Never blocks; fetches for one address at most once per interval.
     *
     * @param address of the token's sender
     * @return completes when a fetch has ended, at once when none is due
     */
    CompletableFuture<Void> fetch(String address);
}
