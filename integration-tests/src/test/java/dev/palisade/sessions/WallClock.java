package dev.palisade.sessions;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The wall clock of another process, which can be stepped while it runs, by a few lines of C preloaded into it. The
 * monotonic clock is left alone, as a step of the machine's own clock would leave it. (libfaketime does the same, and makes
 * a JVM take half a minute to start.)
 */
final class WallClock implements AutoCloseable {
    private final Path folder;

    private WallClock(Path folder) {
        this.folder = folder;
    }

    /** In step with the machine's, as yet; nothing where there is no C compiler or no Linux. */
    static Optional<WallClock> open() {
        Optional<Path> compiler = Stream.of(System.getenv("PATH").split(":", -1))
                .map(path -> Path.of(path, "cc"))
                .filter(Files::isExecutable)
                .findFirst();
        if (compiler.isEmpty() || !System.getProperty("os.name").equals("Linux")) {
            return Optional.empty();
        }
        try {
            WallClock clock = new WallClock(Files.createTempDirectory("palisade-clock"));
            clock.compile(compiler.get());
            clock.step(Duration.ZERO);
            return Optional.of(clock);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void compile(Path compiler) throws IOException {
        try (InputStream source = WallClock.class.getResourceAsStream("/wallclock.c")) {
            Files.copy(Objects.requireNonNull(source), folder.resolve("wallclock.c"));
        }
        List<String> command = List.of(
                compiler.toString(),
                "-shared",
                "-fPIC",
                "-o",
                library(),
                folder.resolve("wallclock.c").toString());
        Process process = new ProcessBuilder(command).inheritIO().start();
        try {
            if (!process.waitFor(60, TimeUnit.SECONDS) || process.exitValue() != 0) {
                throw new IOException("cannot compile wallclock.c");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
    }

    private String library() {
        return folder.resolve("wallclock.so").toString();
    }

    private Path step() {
        return folder.resolve("step");
    }

    /** What makes a process go by this clock. */
    Map<String, String> environment() {
        return Map.of("LD_PRELOAD", library(), "PALISADE_TEST_CLOCK", step().toString());
    }

    /** From now on it is that far from the machine's. */
    void step(Duration ahead) {
        ByteBuffer seconds = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
        seconds.putLong(ahead.toSeconds()).flip();
        try (FileChannel file = FileChannel.open(step(), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            file.write(seconds, 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
            Files.delete(folder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
