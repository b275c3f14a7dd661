package dev.palisade;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * What a user gets on the class path who takes one library only. Reads the verbose dependency tree that the build wrote of
 * this module, which is a user of each: optional dependencies of a library are not in it.
 */
class ClassPathIT {
    private static final Pattern LINE =
            Pattern.compile("^(?<indent>[|+\\\\ -]*)(?<left>\\()?(?<id>[\\w.-]+:[\\w.-]+):jar:[^ )]*.*$");

    /** What each artifact brings along, by {@code group:artifact}. */
    private static Map<String, Set<String>> tree() throws IOException {
        Map<String, Set<String>> brings = new HashMap<>();
        List<String> path = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(System.getProperty("palisade.target"), "dependency-tree.txt"))) {
            Matcher matcher = LINE.matcher(line);
            assertThat(matcher.matches())
                    .as("a line of a dependency tree: " + line)
                    .isTrue();
            int depth = matcher.group("indent").length() / 3;
            String id = matcher.group("id");
            path.subList(depth, path.size()).clear();
            path.add(id);
            brings.computeIfAbsent(id, any -> new TreeSet<>());
            if (depth > 0) {
                brings.computeIfAbsent(path.get(depth - 1), any -> new TreeSet<>())
                        .add(id);
            }
        }
        return brings;
    }

    private static Set<String> classPathOf(String artifact) throws IOException {
        Map<String, Set<String>> brings = tree();
        assertThat(brings).containsKey(artifact);
        Set<String> all = new TreeSet<>();
        Deque<String> open = new ArrayDeque<>(List.of(artifact));
        while (!open.isEmpty()) {
            String next = open.pop();
            if (all.add(next)) {
                open.addAll(brings.getOrDefault(next, Set.of()));
            }
        }
        return all;
    }

    private static void assertHoldsNone(Set<String> classPath, String... words) {
        for (String word : words) {
            assertThat(classPath).as("class path without " + word).noneMatch(id -> id.contains(word));
        }
    }

    @Test
    void aUserOfTheSdkGetsGrpcAndNothingOfOurServices() throws IOException {
        Set<String> classPath = classPathOf("dev.palisade:palisade-client-sdk");

        assertThat(classPath).contains("dev.palisade:palisade-proto", "io.grpc:grpc-api", "io.grpc:grpc-netty-shaded");
        assertHoldsNone(
                classPath,
                "picocli",
                "h2",
                "HikariCP",
                "lettuce",
                "postgres",
                "logback",
                "tink",
                "palisade-lock-server",
                "palisade-resource-guard",
                "io.netty");
    }

    @Test
    void aUserOfTheGuardGetsNeitherATransportNorADatabase() throws IOException {
        Set<String> classPath = classPathOf("dev.palisade:palisade-resource-guard");

        assertThat(classPath).contains("dev.palisade:palisade-proto", "com.google.crypto.tink:tink");
        assertHoldsNone(
                classPath,
                "picocli",
                "h2",
                "HikariCP",
                "lettuce",
                "postgres",
                "logback",
                "netty",
                "palisade-lock-server",
                "palisade-client-sdk");
    }

    @Test
    void aUserOfTheGuardForRedisGetsLettuceAndNothingOfOurServices() throws IOException {
        Set<String> classPath = classPathOf("dev.palisade:palisade-guard-redis");

        assertThat(classPath).contains("dev.palisade:palisade-resource-guard", "io.lettuce:lettuce-core");
        assertHoldsNone(classPath, "picocli", "h2", "HikariCP", "postgres", "logback", "palisade-lock-server");
    }

    @Test
    void aUserOfTheGuardForS3GetsTheAwsSdkWithoutAnHttpClient() throws IOException {
        Set<String> classPath = classPathOf("dev.palisade:palisade-guard-s3");

        assertThat(classPath).contains("dev.palisade:palisade-resource-guard", "software.amazon.awssdk:s3");
        assertHoldsNone(
                classPath,
                "netty",
                "apache",
                "picocli",
                "h2",
                "HikariCP",
                "postgres",
                "logback",
                "palisade-lock-server");
    }

    @Test
    void theBinderOfMetricsBringsMicrometerAndNeitherClientNorGuard() throws IOException {
        Set<String> classPath = classPathOf("dev.palisade:palisade-micrometer");

        assertThat(classPath).contains("io.micrometer:micrometer-core");
        assertHoldsNone(classPath, "palisade-client", "palisade-resource-guard", "prometheus", "grpc", "netty");
    }

    @Test
    void theRecorderOfTracesBringsAnApiAndNoExporter() throws IOException {
        Set<String> classPath = classPathOf("dev.palisade:palisade-opentelemetry");

        assertThat(classPath).contains("io.opentelemetry:opentelemetry-api");
        assertHoldsNone(classPath, "palisade-client", "palisade-resource-guard", "-sdk", "exporter", "grpc", "okhttp");
    }

    @Test
    void whatAServiceNeedsItselfIsSeenInTheTree() throws IOException {
        // Or the two tests above would pass on a tree that shows nothing.
        assertThat(classPathOf("dev.palisade:palisade-lock-server")).contains("io.lettuce:lettuce-core");
        assertThat(classPathOf("dev.palisade:palisade-integration-tests"))
                .contains("info.picocli:picocli", "com.h2database:h2", "org.postgresql:postgresql");
    }
}
