package dev.palisade.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What commands that run from jars say of their own installation. */
class InstallationTest {
    @Test
    void commandsAreNamedAsTheUserCallsThem(@TempDir Path root) throws Exception {
        assertThat(Installation.launcher(root)).isEqualTo("palisade");
        Files.createFile(root.resolve("pom.xml"));
        assertThat(Installation.launcher(root)).isEqualTo("./palisade");
    }
}
