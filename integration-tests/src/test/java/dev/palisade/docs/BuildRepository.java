package dev.palisade.docs;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A local Maven repository that has the libraries of this build as {@code mvn install} leaves them, beside links to all that the
 * build has downloaded. The reader's repository is not written to, and nothing is downloaded.
 */
final class BuildRepository {
    private static final String VERSION = "0.1.0-SNAPSHOT";
    private static final Pattern JAR_OF_GRPC = Pattern.compile("(.*)/io/grpc/grpc-api/.*\\.jar");

    private BuildRepository() {}

    /** The page's project with the versions of plugins and libraries that the build has; makes the repository in {@code folder}. */
    static String offline(String project, Path folder) throws IOException {
        Path repository = Files.createDirectory(folder.resolve("repository"));
        link(downloads(), repository, "dev");
        Path dev = Files.createDirectory(repository.resolve("dev"));
        if (Files.isDirectory(downloads().resolve("dev"))) {
            link(downloads().resolve("dev"), dev, "palisade");
        }
        install(dev, "palisade", "");
        install(dev, "palisade-proto", "proto");
        install(dev, "palisade-client-sdk", "client-sdk");
        Files.createDirectory(folder.resolve(".mvn"));
        Files.writeString(folder.resolve(".mvn/maven.config"), "-o\n-Dmaven.repo.local=" + repository + "\n");
        String plugins = Stream.of(
                        plugin("pom.xml", "maven-compiler-plugin"),
                        plugin("pom.xml", "maven-resources-plugin"),
                        plugin("integration-tests/pom.xml", "maven-dependency-plugin"))
                .collect(Collectors.joining());
        return project.replace(
                "</project>",
                "<dependencyManagement><dependencies><dependency><groupId>dev.palisade</groupId><artifactId>palisade</artifactId>"
                        + "<version>" + VERSION
                        + "</version><type>pom</type><scope>import</scope></dependency></dependencies>"
                        + "</dependencyManagement><build><pluginManagement><plugins>" + plugins
                        + "</plugins></pluginManagement></build></project>");
    }

    /** The local repository of the build that runs this test. */
    private static Path downloads() {
        for (String entry : List.of(System.getProperty("java.class.path").split(File.pathSeparator))) {
            Matcher jar = JAR_OF_GRPC.matcher(entry);
            if (jar.matches()) {
                return Path.of(jar.group(1));
            }
        }
        throw new IllegalStateException("no grpc-api of a local Maven repository on the class path");
    }

    private static void link(Path from, Path to, String except) throws IOException {
        try (Stream<Path> entries = Files.list(from)) {
            for (Path entry : entries.toList()) {
                String name = entry.getFileName().toString();
                if (!name.equals(except)) {
                    Files.createSymbolicLink(to.resolve(name), entry);
                }
            }
        }
    }

    private static void install(Path dev, String artifact, String module) throws IOException {
        Path folder = Files.createDirectories(
                dev.resolve("palisade").resolve(artifact).resolve(VERSION));
        String file = artifact + "-" + VERSION;
        Files.copy(Docs.ROOT.resolve(module).resolve("pom.xml"), folder.resolve(file + ".pom"));
        Path jar = Docs.ROOT.resolve(module).resolve("target").resolve(file + ".jar");
        if (!module.isEmpty()) {
            Files.copy(jar, folder.resolve(file + ".jar"));
        }
    }

    private static String plugin(String pom, String artifact) {
        Matcher found = Pattern.compile("<artifactId>" + artifact + "</artifactId>\\s*<version>([^<]+)</version>")
                .matcher(Docs.page(pom));
        if (!found.find()) {
            throw new IllegalStateException(pom + " has no version of " + artifact);
        }
        return "<plugin><artifactId>" + artifact + "</artifactId><version>" + found.group(1) + "</version></plugin>";
    }
}
