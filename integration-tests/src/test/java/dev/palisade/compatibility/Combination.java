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
 * @param parts what an application can run with them: {@code client} or {@code client, guard}
 */
record Combination(String grpc, String protobuf, String parts) {
    static final String CLIENT = "client";
    static final String ALL = "client, guard";

    /** What applications have, besides {@link #ours()}. */
    static final List<Combination> OTHERS = List.of(
            new Combination("1.80.0", "3.25.9", CLIENT),
            new Combination("1.80.0", "4.34.2", ALL),
            new Combination("1.83.1", "4.33.6", ALL),
            new Combination("1.84.1", "4.36.2", ALL));

    /** The jars that a row has its own version of. */
    private static final Pattern REPLACED = Pattern.compile(
            "(?<name>grpc-[a-z-]+|protobuf-java|proto-google-common-protos)-(?<version>\\d[^/]*)\\.jar");

    /** The versions that Palisade's own POM names, read off this process's class path. */
    static Combination ours() {
        return new Combination(versionHere("grpc-api"), versionHere("protobuf-java"), ALL);
    }

    /** The class path of this process, with the jars of this row in place of those of the build. */
    String classPath() {
        List<String> entries = new ArrayList<>();
        for (String entry : here()) {
            Matcher jar = REPLACED.matcher(Path.of(entry).getFileName().toString());
            if (!jar.matches() || !(jar.group("name").equals("protobuf-java") ? otherProtobuf() : otherGrpc())) {
                entries.add(entry);
            }
        }
        if (otherGrpc()) {
            entries.addAll(jars("grpc-" + grpc, ""));
        }
        if (otherProtobuf() && !protobuf.equals("none")) {
            entries.addAll(jars("protobuf", protobuf));
        }
        return String.join(File.pathSeparator, entries);
    }

    private boolean otherGrpc() {
        return !grpc.equals(versionHere("grpc-api"));
    }

    private boolean otherProtobuf() {
        return !protobuf.equals(versionHere("protobuf-java"));
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
