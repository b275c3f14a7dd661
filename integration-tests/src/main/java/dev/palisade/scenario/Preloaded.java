package dev.palisade.scenario;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A few lines of C of ours, compiled at run time, that a process is started with ({@code LD_PRELOAD}) to see another clock or
 * disk than there is. Nothing where there is no C compiler or no Linux.
 */
public final class Preloaded {
    private static final Map<String, Path> LIBRARIES = new ConcurrentHashMap<>();

    private Preloaded() {}

    /** Whether this machine can do it. A compiler without the headers of its C library cannot: so one library is compiled. */
    public static boolean possible() {
        return Possible.HERE;
    }

    private static final class Possible {
        static final boolean HERE = tried();

        private static boolean tried() {
            if (!System.getProperty("os.name").equals("Linux") || compiler().isEmpty()) {
                return false;
            }
            try {
                library("/incidents/wallclock.c");
                return true;
            } catch (UncheckedIOException e) {
                return false;
            }
        }
    }

    /**
     * The library of a resource of ours, compiled when it is first asked for, and gone with this JVM.
     *
     * @param resource such as {@code /incidents/wallclock.c}
     */
    public static Path library(String resource) {
        return LIBRARIES.computeIfAbsent(resource, Preloaded::compile);
    }

    private static Path compile(String resource) {
        Path compiler = compiler()
                .orElseThrow(() -> new IllegalStateException("there is no cc on the PATH; install a C compiler"));
        try (InputStream text = Preloaded.class.getResourceAsStream(resource)) {
            Path source = Files.createTempFile("palisade-preloaded", ".c");
            Files.copy(Objects.requireNonNull(text), source, StandardCopyOption.REPLACE_EXISTING);
            Path library = Path.of(source.toString().replaceFirst("c$", "so"));
            source.toFile().deleteOnExit();
            library.toFile().deleteOnExit();
            run(compiler.toString(), "-shared", "-fPIC", "-o", library.toString(), source.toString());
            return library;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void run(String... command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try {
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (!process.waitFor(60, TimeUnit.SECONDS) || process.exitValue() != 0) {
                throw new IOException("failed: " + String.join(" ", command) + ": " + said.strip());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
    }

    private static Optional<Path> compiler() {
        return Stream.of(System.getenv("PATH").split(":", -1))
                .map(path -> Path.of(path, "cc"))
                .filter(Files::isExecutable)
                .findFirst();
    }
}
