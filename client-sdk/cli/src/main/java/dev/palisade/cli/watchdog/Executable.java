package dev.palisade.cli.watchdog;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A program file, resolved as a shell resolves it.
 *
 * @param path of the file; null if it was not found
 * @param runnable whether this user may execute it
 */
public record Executable(@Nullable Path path, boolean runnable) {
    /** Searches {@code searchPath}, the value of PATH, unless the name has a slash. */
    public static Executable find(String name, @Nullable String searchPath) {
        Path other = null;
        for (Path candidate : candidates(name, searchPath)) {
            if (Files.isRegularFile(candidate) && Files.isExecutable(candidate)) {
                return new Executable(candidate, true);
            }
            if (other == null && Files.exists(candidate)) {
                other = candidate;
            }
        }
        return new Executable(other, false);
    }

    private static List<Path> candidates(String name, @Nullable String searchPath) {
        if (name.isEmpty()) {
            return List.of();
        }
        if (name.contains("/")) {
            return List.of(Path.of(name));
        }
        List<Path> candidates = new ArrayList<>();
        if (searchPath != null) {
            for (String folder : searchPath.split(File.pathSeparator, -1)) {
                candidates.add(Path.of(folder.isEmpty() ? "." : folder, name));
            }
        }
        return candidates;
    }
}
