package dev.palisade.server;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.contract.crypto.SequencerKeys.KeyInfo;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.OwnerKey;
import dev.palisade.server.store.log.SigningKeys;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Keyset that all lock servers of one store must have in common. A server whose keyset lacks the key of the log's owner does not start; one
 * that runs already logs a warning. Keysets of guard groups are not compared. Safe to share between threads.
 */
final class SharedKeyset implements SigningKeys {
    private final KeysetFile keyset;
    private final EventLog events;
    /** Completed by the reply to the first claim: why this server must not start. */
    private final CompletableFuture<Optional<String>> firstReply = new CompletableFuture<>();

    private volatile Signing signing;
    /** Key of the last refusal or warning; empty while the owner's key is known. Touched by the store's writer only. */
    private String warnedKeyId = "";

    private record Signing(SequencerKeys keys, String keyId) {
        static Signing of(SequencerKeys keys) {
            return new Signing(
                    keys,
                    keys.keys().stream()
                            .filter(KeyInfo::signs)
                            .map(SharedKeyset::id)
                            .findFirst()
                            .orElse(""));
        }
    }

    SharedKeyset(KeysetFile keyset, EventLog events) {
        this.keyset = keyset;
        this.events = events;
        this.signing = Signing.of(keyset.keys());
    }

    /** As {@code palisade keys list} prints it. */
    private static String id(KeyInfo key) {
        return Integer.toUnsignedString(key.id());
    }

    @Override
    public String keyId() {
        SequencerKeys keys = keyset.keys();
        Signing now = signing;
        if (now.keys() != keys) {
            now = Signing.of(keys);
            signing = now;
        }
        return now.keyId();
    }

    private boolean lacks(OwnerKey owner) {
        return !owner.keyId().isEmpty()
                && keyset.keys().keys().stream().map(SharedKeyset::id).noneMatch(owner.keyId()::equals);
    }

    @Override
    public void check(OwnerKey last) throws StoreUnusable {
        if (lacks(last)) {
            throw new StoreUnusable(refusal(last));
        }
    }

    private String refusal(OwnerKey owner) {
        String copy = "copy the keyset of " + owner.address() + " to this file, then start again";
        return owner.active()
                ? "lock server " + owner.address() + " is active and signs with key " + owner.keyId()
                        + ", which signing keyset " + keyset.path()
                        + " does not have: after a takeover guards would refuse what this server signs; " + copy
                : "lock server " + owner.address() + " was active last and signed with key " + owner.keyId()
                        + ", which signing keyset " + keyset.path()
                        + " does not have: holders and guards have what it signed; " + copy
                        + ". If no copy is left, use another --store-prefix: every holder has to acquire again";
    }

    @Override
    public void replied(Optional<OwnerKey> active) {
        Optional<OwnerKey> foreign = active.filter(this::lacks);
        if (firstReply.complete(foreign.map(this::refusal))) {
            warnedKeyId = foreign.map(OwnerKey::keyId).orElse("");
            return;
        }
        if (active.isPresent() && foreign.isEmpty()) {
            warnedKeyId = "";
        }
        if (foreign.isPresent() && !foreign.get().keyId().equals(warnedKeyId)) {
            OwnerKey owner = foreign.get();
            warnedKeyId = owner.keyId();
            events.warn(
                    "keyset_differs",
                    "active",
                    owner.address(),
                    "key",
                    owner.keyId(),
                    "message",
                    "the active lock server signs with a key that signing keyset " + keyset.path()
                            + " does not have: after a takeover guards may refuse what this server signs; copy the keyset of "
                            + owner.address() + " to this file");
        }
    }

    /**
     * Waits for the reply to the first claim: of two servers that start at one time on a new store, only that reply shows to the second one
     * that it has another keyset.
     *
     * @param patience afterwards the start continues without a reply
     */
    void awaitFirstReply(Duration patience) throws CannotStart {
        Optional<String> refusal;
        try {
            refusal = firstReply
                    .completeOnTimeout(Optional.empty(), patience.toMillis(), TimeUnit.MILLISECONDS)
                    .get();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CannotStart("interrupted while the store was claimed");
        }
        if (refusal.isPresent()) {
            throw new CannotStart(refusal.get());
        }
    }
}
