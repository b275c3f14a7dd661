package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class LibraryTest {
    @Test
    void everyFileIsLoaded() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("src/main/resources/redis"))) {
            assertThat(files.map(file -> file.getFileName().toString().replace(".lua", "")))
                    .containsExactlyInAnyOrderElementsOf(Library.FILES);
        }
        assertThat(Library.load().code()).startsWith("#!lua name=palisade_log\n");
        assertThat(Library.load().version()).isPositive();
    }
}
