package dev.palisade.server.access;

import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;

/** A file with the public keys of an issuer, which is read again every second. Thread-safe, but {@link #reload} is for one thread. */
final class JwksFile extends AccessFile<VerificationKeys> implements KeySource {
    JwksFile(Path path) throws FileMistakes {
        super(path, false, VerificationKeys::parse);
    }

    @Override
    public CompletableFuture<Void> fetch(String address) {
        return CompletableFuture.completedFuture(null);
    }
}
