package dev.palisade.cli.watchdog;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ExecutableTest {
    @TempDir
    Path first;

    @TempDir
    Path second;

    private Path file(Path folder, String mode) throws IOException {
        Path file = Files.createFile(folder.resolve("tool"));
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(mode));
    }

    private String searchPath() {
        return first + ":" + second;
    }

    @Test
    void firstExecutableFileIsFound() throws IOException {
        file(first, "rw-r--r--");
        Path runnable = file(second, "rwxr-xr-x");
        assertThat(Executable.find("tool", searchPath())).isEqualTo(new Executable(runnable, true));
    }

    @Test
    void fileWithoutExecutePermissionIsReported() throws IOException {
        Path plain = file(second, "rw-r--r--");
        assertThat(Executable.find("tool", searchPath())).isEqualTo(new Executable(plain, false));
        assertThat(Executable.find(plain.toString(), null).runnable()).isFalse();
        assertThat(Executable.find(second.toString(), null)).as("a folder").isEqualTo(new Executable(second, false));
    }

    @Test
    void nameWithSlashIsNotSearched() throws IOException {
        file(first, "rwxr-xr-x");
        assertThat(Executable.find("./no-such-tool", searchPath()).path()).isNull();
        assertThat(Executable.find("no-such-tool", searchPath()).path()).isNull();
        assertThat(Executable.find("", searchPath()).path()).isNull();
        assertThat(Executable.find("tool", null).path()).isNull();
    }
}
