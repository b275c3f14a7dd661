package dev.palisade.scenario;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.Stream;

/** A JDK on this machine that has virtual threads: this one, or one of JAVA_HOME_* or /usr/lib/jvm. Downloads none. */
public final class NewerJdk {
    /** What is missing, and what to do. */
    public static final String MISSING =
            "no JDK of 21 or newer in JAVA_HOME_* or /usr/lib/jvm; install one to run this";

    private static final int VIRTUAL_THREADS = 21;

    private NewerJdk() {}

    /** Its home; empty where there is none that has {@code tool} in its bin folder. */
    public static Optional<Path> with(String tool) {
        List<Path> homes = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"))));
        System.getenv().forEach((name, value) -> {
            if (name.startsWith("JAVA_HOME")) {
                homes.add(Path.of(value));
            }
        });
        Path installed = Path.of("/usr/lib/jvm");
        if (Files.isDirectory(installed)) {
            try (Stream<Path> all = Files.list(installed)) {
                all.sorted().forEach(homes::add);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return homes.stream()
                .filter(home -> version(home) >= VIRTUAL_THREADS
                        && Files.isExecutable(home.resolve("bin").resolve(tool)))
                .findFirst();
    }

    /** The feature release of a JDK; 0 when it is none. */
    private static int version(Path home) {
        Path release = home.resolve("release");
        if (!Files.isReadable(release)) {
            return 0;
        }
        Properties properties = new Properties();
        try (var in = Files.newBufferedReader(release)) {
            properties.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        String version = properties.getProperty("JAVA_VERSION", "0").replace("\"", "");
        return Integer.parseInt(version.split("[.+-]", 2)[0]);
    }
}
