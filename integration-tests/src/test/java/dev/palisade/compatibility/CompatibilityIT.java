package dev.palisade.compatibility;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Client and guard, in a process of their own, with each combination of versions that the documentation lists. */
@Execution(ExecutionMode.CONCURRENT)
class CompatibilityIT {
    private static final Pattern ROW = Pattern.compile("(?m)^\\| (\\d[\\d.]+) \\| (\\d[\\d.]+) \\| ([a-z, ]+) \\|");

    private static Installation installation;
    private static Installation.Service locks;

    @BeforeAll
    static void start() {
        installation = Installation.fresh();
        locks = installation.server();
    }

    @AfterAll
    static void stop() {
        locks.child().kill();
        installation.close();
    }

    static Stream<Combination> combinations() {
        return Stream.concat(Combination.OTHERS.stream(), Stream.of(Combination.ours()));
    }

    @ParameterizedTest
    @MethodSource("combinations")
    void whatThePageSaysRunsWith(Combination versions) throws Exception {
        assertThat(run(versions))
                .isEqualTo("ok " + versions.parts() + " grpc-api-" + versions.grpc() + ".jar protobuf-java-"
                        + versions.protobuf() + ".jar");
    }

    @Test
    void thePageListsTheseCombinationsAndNoOther() throws Exception {
        String page = Files.readString(Path.of(System.getProperty("palisade.root"), "docs/reference/compatibility.md"));
        List<Combination> listed = ROW.matcher(page)
                .results()
                .map(row -> new Combination(row.group(1), row.group(2), row.group(3)))
                .toList();
        assertThat(listed).containsExactlyInAnyOrderElementsOf(combinations().toList());
    }

    /** The client would otherwise reconnect for as long as the acquire waits. */
    @ParameterizedTest
    @CsvSource({"3.19.6, client", "none, client", "3.25.9, 'client, guard'"})
    void whatCannotRunWithProtobufSaysSoAtOnce(String protobuf, String parts) throws Exception {
        Combination versions = new Combination(Combination.ours().grpc(), protobuf, parts);
        assertThat(run(versions))
                .startsWith(
                        "failed java.lang.IllegalStateException: Palisade cannot run with the libraries on the class path: ")
                .contains(
                        protobuf.equals("none")
                                ? "no com.google.protobuf.Message"
                                : "protobuf-java-" + protobuf + ".jar")
                .contains("docs/reference/compatibility.md");
    }

    private static String run(Combination versions) throws Exception {
        Path marks = Files.createTempDirectory(installation.home(), "marks").resolve("of-the-guard");
        List<String> command = Child.java(
                "-cp",
                versions.classPath(),
                GuardedCall.class.getName(),
                locks.address(),
                installation.home().resolve("keys/sequencers.json").toString(),
                marks.toString(),
                versions.parts());
        try (Child child = Child.start("guarded call with " + versions, command, Map.of())) {
            return child.await(line -> line.startsWith("ok ") || line.startsWith("failed "));
        }
    }
}
