package dev.palisade.server.access;

import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;

/** Public keys of an issuer in a file, which is read again every second. Thread-safe, but {@link #reload} is for one thread. */
final class JwksFile implements KeySource {
    private final AccessFile<VerificationKeys> file;

    JwksFile(Path path) throws FileMistakes {
        this.file = new AccessFile<>(path, false, VerificationKeys::parse);
    }

    @Override
    public VerificationKeys value() {
        return file.value();
    }

    @Override
    public String source() {
        return file.source();
    }

    @Override
    public boolean reload() throws FileMistakes {
        return file.reload();
    }

    @Override
    public boolean isUsable() {
        return file.isUsable();
    }

    @Override
    public String keeps() {
        return file.keeps();
    }

    @Override
    public CompletableFuture<Void> fetch(String address) {
        return CompletableFuture.completedFuture(null);
    }
}
