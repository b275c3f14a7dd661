package dev.palisade.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PageFolderTest {
    @TempDir
    private Path directory;

    @Test
    void aCheckoutHasItBelowTarget() throws Exception {
        Files.createFile(directory.resolve("pom.xml"));

        assertThat(PageFolder.find(directory, directory.resolve("home")))
                .isEqualTo(directory.resolve("target/demo"))
                .isDirectory();
    }

    @Test
    void withoutACheckoutItIsInTheHome() throws Exception {
        assertThat(PageFolder.find(directory, directory.resolve("home")))
                .isEqualTo(directory.resolve("home/demo"))
                .isDirectory();
        assertThat(directory.resolve("target")).doesNotExist();
    }

    @Test
    void whereNothingCanBeWrittenItIsATemporaryFolder() throws Exception {
        Files.createFile(directory.resolve("pom.xml"));
        Files.createFile(directory.resolve("target"));
        Path home = Files.createFile(directory.resolve("home"));

        assertThat(PageFolder.find(directory, home))
                .isDirectory()
                .matches(folder -> folder.getFileName().toString().startsWith("palisade-demo-"));
    }
}
