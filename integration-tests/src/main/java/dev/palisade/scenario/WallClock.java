package dev.palisade.scenario;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The wall clock of another process, which can be stepped while it runs, by a few lines of C preloaded into it. The
 * monotonic clock is left alone, as a step of the machine's own clock would leave it. (libfaketime does the same, and makes
 * a JVM take half a minute to start.)
 */
public final class WallClock implements AutoCloseable {
    private final Path folder;

    private WallClock(Path folder) {
        this.folder = folder;
    }

    /** In step with the machine's, as yet; nothing where there is no C compiler or no Linux. */
    public static Optional<WallClock> open() {
        if (!Preloaded.possible()) {
            return Optional.empty();
        }
        try {
            WallClock clock = new WallClock(Files.createTempDirectory("palisade-clock"));
            clock.step(Duration.ZERO);
            return Optional.of(clock);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path step() {
        return folder.resolve("step");
    }

    /** What makes a process go by this clock. */
    public Map<String, String> environment() {
        return Map.of(
                "LD_PRELOAD",
                Preloaded.library("/incidents/wallclock.c").toString(),
                "PALISADE_TEST_CLOCK",
                step().toString());
    }

    /** From now on it is that far from the machine's. */
    public void step(Duration ahead) {
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
