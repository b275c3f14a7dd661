package dev.palisade.contract.cli;

import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.crypto.SequencerVerifier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Keysets that a guard's process was started with, and whose sequencers it accepts by them. Immutable; its verifiers follow the
 * files.
 */
public final class GuardKeys {
    private final KeysetFile keyset;
    private final String issuer;
    private final @Nullable String audience;
    private final @Nullable KeysetFile previous;

    private GuardKeys(KeysetFile keyset, String issuer, @Nullable String audience, @Nullable KeysetFile previous) {
        this.keyset = keyset;
        this.issuer = issuer;
        this.audience = audience;
        this.previous = previous;
    }

    /**
     * Opens the files.
     *
     * @param audience the guard group; null: sequencers without one are accepted
     * @param previous by these keys sequencers without an audience are accepted, too; null: none
     * @param create whether a missing {@code keyset} is made, for a lock server that is not there yet
     * @throws IOException in one line that names the file
     */
    public static GuardKeys open(
            Path keyset, String issuer, @Nullable String audience, @Nullable Path previous, boolean create)
            throws IOException {
        if (create && Files.notExists(keyset)) {
            KeysetFile.openOrCreate(keyset);
        }
        return new GuardKeys(
                KeysetFile.open(keyset), issuer, audience, previous == null ? null : KeysetFile.open(previous));
    }

    /** What the guard verifies with. */
    public SequencerVerifier verifier() {
        SequencerVerifier verifier = audience == null ? keyset.verifier(issuer) : keyset.verifier(issuer, audience);
        return previous == null ? verifier : verifier.or(previous.verifier(issuer));
    }

    /** For the line that a process prints at its start. */
    @Override
    public String toString() {
        return (keyset.keys().canSign() ? "signing" : "public") + " keyset " + keyset.path() + ", issuer " + issuer
                + (audience == null ? "" : ", audience " + audience)
                + (previous == null ? "" : ", previous keyset " + previous.path());
    }
}
