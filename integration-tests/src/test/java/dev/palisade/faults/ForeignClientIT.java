package dev.palisade.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** A client in another language among those of a fault run, judged by the same checkers. */
@Isolated("As RandomRunIT.")
class ForeignClientIT {
    @Test
    void clientInPythonTakesLocksAndBreaksNoRule(@TempDir Path directory) {
        assumeTrue(ForeignClient.isAvailable(), "needs " + ForeignClient.PACKAGES);
        Path run = directory.resolve("run");

        List<String> said = RandomRunIT.faults(RandomRunIT.to(run, "--seed", "71", "--only", "PAUSE_CLIENTS"));

        assertThat(said)
                .anyMatch(line -> line.matches(" *grants of the client in Python +[1-9].*"))
                .noneMatch(line -> line.startsWith("FAILED") && !line.startsWith("FAILED: VACUOUS"));
    }
}
