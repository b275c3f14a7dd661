package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class LibraryTest {
    private static final Pattern CALL = Pattern.compile("redis\\.p?call\\('([A-Z]+)'");
    private static final Pattern RIGHT = Pattern.compile("\\{ '([A-Z]+)'");

    private static Set<String> found(Pattern pattern, String file) {
        return pattern.matcher(Library.file(file))
                .results()
                .map(match -> match.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void everyFileIsLoaded() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("src/main/resources/redis"))) {
            assertThat(files.map(file -> file.getFileName().toString().replace(".lua", "")))
                    .containsExactlyInAnyOrderElementsOf(Library.FILES);
        }
        assertThat(Library.load().code()).startsWith("#!lua name=palisade_log\n");
        assertThat(Library.load().version()).isPositive();
    }

    /** So a right that the user lacks is found at the start, and not halfway through an append. */
    @Test
    void everyCommandOfAFunctionIsAmongTheRightsThatAreChecked() {
        for (String file : Library.FILES) {
            Set<String> rights = found(RIGHT, "log");
            rights.addAll(found(RIGHT, file));
            assertThat(rights).as(file).containsAll(found(CALL, file));
        }
    }
}
