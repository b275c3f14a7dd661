package dev.palisade.examples;

import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.crypto.SequencerVerifier;
import java.io.IOException;
import java.nio.file.Path;

/** What the guards of one group verify with. */
final class GuardOfAGroup {
    private GuardOfAGroup() {}

    static SequencerVerifier verifier() throws IOException {
        // snippet
        SequencerVerifier verifier =
                KeysetFile.open(Path.of("payments.public.json")).verifier("palisade", "payments");
        // end
        return verifier;
    }
}
