package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.scenario.Installation;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The script {@code palisade}, with a stand-in for Java that tells what it was started with. */
class LauncherStreamsTest {
    private static final List<String> JARS = List.of(
            "client-sdk/cli/target/palisade.jar",
            "integration-tests/target/palisade-demo.jar",
            "lock-server/target/palisade-server.jar",
            "resource-guard/objects/target/palisade-objects.jar",
            "resource-guard/gateway/target/palisade-gateway.jar");

    @TempDir
    Path root;

    @BeforeEach
    void install() throws IOException {
        Files.copy(Path.of(System.getProperty(Installation.ROOT_PROPERTY), "palisade"), root.resolve("palisade"));
        for (String jar : JARS) {
            Files.createDirectories(root.resolve(jar.substring(0, jar.lastIndexOf('/'))));
            Files.createFile(root.resolve(jar));
        }
        Path java = Files.createDirectories(root.resolve("bin")).resolve("java");
        Files.writeString(
                java,
                "#!/bin/sh\nfor fd in 0 1 2; do links=\"$links $(readlink /proc/$$/fd/$fd || echo closed)\"; done\n"
                        + "echo $links | tr ' ' '\\n' >>" + root + "/streams\necho \"$@\" >>" + root + "/arguments\n");
        Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.setPosixFilePermissions(root.resolve("palisade"), PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private void launch(String command) throws Exception {
        ProcessBuilder shell = new ProcessBuilder("/bin/sh", "-c", command);
        shell.environment().put("PATH", root.resolve("bin") + ":" + System.getenv("PATH"));
        Process process = shell.directory(root.toFile())
                .redirectErrorStream(true)
                .redirectOutput(root.resolve("printed").toFile())
                .start();
        process.getOutputStream().close();
        assertThat(process.waitFor())
                .as(Files.readString(root.resolve("printed"), StandardCharsets.UTF_8))
                .isZero();
    }

    /** Else the JVM opens its class archive there, and a command of {@code run} reads or writes that. */
    @ParameterizedTest
    @CsvSource({"<&-, 0", ">&-, 1", "2>&-, 2"})
    void closedStandardStreamIsOpenedSoThatNoFileTakesItsPlace(String closing, int stream) throws Exception {
        launch("./palisade server " + closing);
        assertThat(Files.readAllLines(root.resolve("streams")).get(stream)).isEqualTo("/dev/null");
    }

    @Test
    void chaosIsStartedFromTheDemosJar() throws Exception {
        launch("./palisade chaos abuse --seconds 1");
        assertThat(Files.readString(root.resolve("arguments")))
                .contains("palisade-demo.jar dev.palisade.chaos.Main abuse --seconds 1");
    }
}
