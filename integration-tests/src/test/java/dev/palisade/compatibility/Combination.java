package dev.palisade.compatibility;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Versions of grpc-java and protobuf-java on the class path of a child process. The rows of docs/reference/compatibility.md.
 *
 * @param grpc of every jar of grpc-java
 * @param protobuf of protobuf-java; {@code none} leaves it out
 */
record Combination(String grpc, String protobuf) {
    /** What applications run the client and the guard with, besides {@link #ours()}. */
    static final List<Combination> OTHERS = List.of(
            new Combination("1.80.0", "3.25.9"),
            new Combination("1.80.0", "4.34.2"),
            new Combination("1.83.1", "3.25.9"),
            new Combination("1.84.1", "4.36.2"));

    /** The jars that a row has its own version of. */
    private static final Pattern REPLACED = Pattern.compile(
            "(?<name>grpc-[a-z-]+|protobuf-java|proto-google-common-protos)-(?<version>\\d[^/]*)\\.jar");

    /** The versions that Palisade's own POM names, read off this process's class path. */
    static Combination ours() {
        return new Combination(versionHere("grpc-api"), versionHere("protobuf-java"));
    }

    /** The class path of this process, with the jars of this row in place of those of the build. */
    String classPath() {
        List<String> entries = new ArrayList<>();
        for (String entry : here()) {
            Matcher jar = REPLACED.matcher(Path.of(entry).getFileName().toString());
            boolean ours = jar.matches()
                    && (jar.group("name").equals("protobuf-java") ? protobuf : grpc)
                            .equals(versionHere(
                                    jar.group("name").equals("protobuf-java") ? "protobuf-java" : "grpc-api"));
            if (!jar.matches() || ours) {
                entries.add(entry);
            }
        }
        if (!grpc.equals(versionHere("grpc-api"))) {
            entries.addAll(jars("grpc-" + grpc, ""));
        }
        if (!protobuf.equals(versionHere("protobuf-java")) && !protobuf.equals("none")) {
            entries.addAll(jars("protobuf", protobuf));
        }
        return String.join(File.pathSeparator, entries);
    }

    /** Copied there by the build. */
    private static List<String> jars(String directory, String version) {
        try (Stream<Path> files =
                Files.list(Path.of(System.getProperty("palisade.target"), "compatibility", directory))) {
            List<String> found = files.map(Path::toString)
                    .filter(file -> file.endsWith(version + ".jar"))
                    .collect(Collectors.toList());
            if (found.isEmpty()) {
                throw new IllegalStateException("the build copied no jar of " + directory + " " + version);
            }
            return found;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String versionHere(String artifact) {
        for (String entry : here()) {
            Matcher jar = REPLACED.matcher(Path.of(entry).getFileName().toString());
            if (jar.matches() && jar.group("name").equals(artifact)) {
                return jar.group("version");
            }
        }
        throw new IllegalStateException("no " + artifact + " on the class path");
    }

    private static List<String> here() {
        return List.of(System.getProperty("java.class.path").split(File.pathSeparator));
    }
}
