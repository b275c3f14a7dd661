package dev.palisade.chaos.abuse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * Resident memory and open files of a process, as {@code /proc} has them.
 *
 * @param megabytes -1 when it cannot be read
 * @param files -1 when they cannot be counted
 */
record ProcessState(long megabytes, long files) {
    /** @param pid below 1 when it is not known */
    static ProcessState of(long pid) {
        Path process = Path.of("/proc", Long.toString(pid));
        try (Stream<Path> files = Files.list(process.resolve("fd"));
                Stream<String> lines = Files.lines(process.resolve("status"))) {
            long kilobytes = lines.filter(line -> line.startsWith("VmRSS:"))
                    .map(line -> line.replaceAll("\\D", ""))
                    .findFirst()
                    .map(Long::parseLong)
                    .orElse(-1_024L);
            return new ProcessState(kilobytes / 1_024, files.count());
        } catch (IOException e) {
            return new ProcessState(-1, -1);
        }
    }
}
