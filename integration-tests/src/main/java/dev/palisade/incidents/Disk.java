package dev.palisade.incidents;

import dev.palisade.scenario.Preloaded;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The disk of one Redis, by a few lines of C preloaded into it: its syncs can be slow, and what was not synced can be lost, as by
 * a loss of power. It says nothing about the order in which a real disk loses things.
 */
final class Disk implements AutoCloseable {
    private final Path folder;

    private Disk(Path folder) {
        this.folder = folder;
    }

    static Disk open() {
        try {
            Disk disk = new Disk(Files.createTempDirectory("palisade-disk"));
            disk.delaySyncs(Duration.ZERO);
            return disk;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What makes a process use this disk. */
    Map<String, String> environment() {
        return Map.of(
                "LD_PRELOAD",
                Preloaded.library("/incidents/disk.c").toString(),
                "PALISADE_TEST_DISK",
                control().toString());
    }

    private Path control() {
        return folder.resolve("control");
    }

    /** From now on every sync takes that much longer. */
    void delaySyncs(Duration delay) {
        ByteBuffer millis = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
        millis.putLong(delay.toMillis()).flip();
        try (FileChannel file = FileChannel.open(control(), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            file.write(millis, 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Cuts off what was not synced of everything Redis persists in {@code data}; its process has ended.
     *
     * @return how many bytes were lost
     */
    long losePower(Path data) {
        long lost = 0;
        try (Stream<Path> files = Files.walk(data)) {
            Map<Long, Long> synced = synced();
            for (Path file : files.filter(Disk::persisted).toList()) {
                long inode = (Long) Files.getAttribute(file, "unix:ino");
                long size = Files.size(file);
                long safe = Math.min(size, synced.getOrDefault(inode, 0L));
                lost += size - safe;
                try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                    channel.truncate(safe);
                }
            }
            return lost;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean persisted(Path file) {
        String name = file.getFileName().toString();
        return Files.isRegularFile(file)
                && (name.endsWith(".rdb") || name.endsWith(".aof") || name.endsWith(".manifest"));
    }

    /** How much of each inode is safe. */
    private Map<Long, Long> synced() throws IOException {
        Map<Long, Long> sizes = new HashMap<>();
        for (String line : Files.readAllLines(folder.resolve("control.log"))) {
            String[] words = line.split(" ", 2);
            sizes.put(Long.parseLong(words[0]), Long.parseLong(words[1]));
        }
        return sizes;
    }

    @Override
    public void close() {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
