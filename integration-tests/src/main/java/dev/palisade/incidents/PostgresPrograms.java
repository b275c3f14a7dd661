package dev.palisade.incidents;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The programs of one installation of PostgreSQL: {@code postgres} and {@code initdb}. Immutable.
 *
 * @param postgres beside which the other one is
 * @param version its major version
 */
record PostgresPrograms(Path postgres, int version) {
    static final int VERSION_MIN = 13;
    /** Names the directory to use; nothing else is searched then. */
    static final String PROPERTY = "palisade.postgres.programs";

    private static final Path OF_DEBIAN = Path.of("/usr/lib/postgresql");
    private static final Pattern VERSION = Pattern.compile("\\(PostgreSQL\\) (\\d+)");

    /** The one on the PATH, or else the newest in the directory where Debian installs them. */
    static Optional<PostgresPrograms> find() {
        String named = System.getProperty(PROPERTY);
        Stream<Path> searched = named == null ? Stream.concat(onThePath(), ofDebian()) : Stream.of(Path.of(named));
        return searched.map(PostgresPrograms::in)
                .flatMap(Optional::stream)
                .filter(found -> found.version() >= VERSION_MIN)
                .findFirst();
    }

    private static Stream<Path> onThePath() {
        String path = Optional.ofNullable(System.getenv("PATH")).orElse("");
        return Stream.of(path.split(File.pathSeparator))
                .filter(name -> !name.isEmpty())
                .map(Path::of);
    }

    private static Stream<Path> ofDebian() {
        if (!Files.isDirectory(OF_DEBIAN)) {
            return Stream.empty();
        }
        try (Stream<Path> versions = Files.list(OF_DEBIAN)) {
            return versions
                    .map(version -> version.resolve("bin"))
                    .sorted(Comparator.comparingInt((Path bin) ->
                                    in(bin).map(PostgresPrograms::version).orElse(0))
                            .reversed())
                    .toList()
                    .stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Optional<PostgresPrograms> in(Path directory) {
        try {
            Path postgres = directory.resolve("postgres");
            if (!Files.isExecutable(postgres)) {
                return Optional.empty();
            }
            // It finds its libraries from where it is, so a link to it is followed.
            Path real = postgres.toRealPath();
            if (!Files.isExecutable(real.resolveSibling("initdb"))) {
                return Optional.empty();
            }
            Process process = new ProcessBuilder(real.toString(), "--version").start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            Matcher version = VERSION.matcher(said);
            return version.find()
                    ? Optional.of(new PostgresPrograms(real, Integer.parseInt(version.group(1))))
                    : Optional.empty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Of {@code name} with {@code arguments}. PostgreSQL refuses root, so for root it runs in a user namespace of its own. */
    List<String> command(String name, List<String> arguments) {
        List<String> command = new ArrayList<>();
        if ("root".equals(System.getProperty("user.name"))) {
            command.addAll(List.of("unshare", "-U"));
        }
        command.add(postgres.resolveSibling(name).toString());
        command.addAll(arguments);
        return command;
    }

    @Override
    public String toString() {
        return "PostgreSQL " + version + " (" + postgres + ")";
    }
}
