package dev.palisade.picture;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A headless Chromium on the PATH, with a profile of its own. */
final class Chromium {
    private static final List<String> NAMES = List.of("chromium", "chromium-browser", "google-chrome");
    private static final long SECONDS_MAX = 120;

    private final Path command;
    private final Path directory;

    private Chromium(Path command, Path directory) {
        this.command = command;
        this.directory = directory;
    }

    /** Skips the test where there is none. */
    static Chromium orSkip(Path directory) {
        Optional<Path> found = Stream.of(System.getenv("PATH").split(":"))
                .flatMap(folder -> NAMES.stream().map(name -> Path.of(folder, name)))
                .filter(Files::isExecutable)
                .findFirst();
        assumeTrue(found.isPresent(), "no chromium on the PATH: the picture is not looked at in a browser");
        return new Chromium(found.orElseThrow(), directory);
    }

    /** The document of {@code page} after its scripts have run. */
    String document(Path page, boolean dark) throws IOException, InterruptedException {
        return run(page, 1_400, 900, dark, "--dump-dom");
    }

    void screenshot(Path page, int width, int height, Path file) throws IOException, InterruptedException {
        run(page, width, height, false, "--screenshot=" + file);
    }

    private String run(Path page, int width, int height, boolean dark, String action)
            throws IOException, InterruptedException {
        List<String> line = new ArrayList<>(List.of(command.toString(), "--headless", "--no-sandbox", "--disable-gpu"));
        line.addAll(List.of("--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"));
        line.addAll(List.of("--disable-component-update", "--hide-scrollbars", "--user-data-dir=" + directory));
        line.addAll(List.of("--window-size=" + width + "," + height, action));
        if (dark) {
            line.add("--blink-settings=preferredColorScheme=0");
        }
        line.add(page.toUri().toString());
        Path out = Files.createTempFile(directory, "out", "");
        Path err = Files.createTempFile(directory, "err", "");
        Process process = new ProcessBuilder(line)
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        try {
            assertThat(process.waitFor(SECONDS_MAX, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).as(Files.readString(err)).isZero();
            return Files.readString(out);
        } finally {
            process.destroyForcibly();
        }
    }
}
