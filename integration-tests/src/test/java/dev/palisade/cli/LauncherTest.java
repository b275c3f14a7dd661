package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.scenario.Installation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The script {@code ./palisade} in a checkout of its own, with scripts in place of Maven and Java. */
class LauncherTest {
    private static final String MVN = """
            #!/bin/sh
            echo build >>builds
            echo '[INFO] Building Palisade proto 0.1.0-SNAPSHOT                             [2/9]'
            while [ -e hold ]; do sleep 0.05; done
            if [ -e broken ]; then echo '[INFO] other lines'; echo '[ERROR] it is broken'; exit 1; fi
            mkdir -p client-sdk/cli/target integration-tests/target
            : >client-sdk/cli/target/palisade.jar
            : >integration-tests/target/palisade-demo.jar
            echo '[INFO] BUILD SUCCESS'
            """;

    @TempDir
    private Path temporary;

    private Path checkout;

    /** What a call printed, both streams, and its exit code. */
    private record Ran(int code, List<String> lines) {}

    @BeforeEach
    void makeTheCheckout() throws IOException {
        checkout = Files.createDirectories(temporary.resolve("checkout"));
        Path tools = Files.createDirectories(temporary.resolve("tools"));
        script(tools.resolve("mvn"), MVN);
        script(tools.resolve("java"), "#!/bin/sh\necho java ran\n");
        script(
                checkout.resolve("palisade"),
                Files.readString(Path.of(System.getProperty(Installation.ROOT_PROPERTY), "palisade")));
        Files.createFile(checkout.resolve("pom.xml"));
    }

    private static void script(Path file, String text) throws IOException {
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private Process start(Path output) throws IOException {
        return start(output, "demo", "");
    }

    private Process start(Path output, String command, String javaOptions) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(checkout.resolve("palisade").toString(), command);
        Map<String, String> environment = builder.environment();
        environment.put("PALISADE_JAVA_OPTS", javaOptions);
        environment.put("PATH", temporary.resolve("tools") + ":" + environment.get("PATH"));
        return builder.redirectErrorStream(true).redirectOutput(output.toFile()).start();
    }

    private Ran run() throws Exception {
        Path output = Files.createTempFile(temporary, "output", "");
        return ended(start(output), output);
    }

    private static Ran ended(Process process, Path output) throws Exception {
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        return new Ran(process.exitValue(), Files.readAllLines(output));
    }

    private List<String> builds() throws IOException {
        return Files.readAllLines(checkout.resolve("builds"));
    }

    private static void awaitText(Path file, String text) {
        Awaitility.await().until(() -> read(file).contains(text));
    }

    private static String read(Path file) {
        try {
            return Files.exists(file) ? Files.readString(file, StandardCharsets.UTF_8) : "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void firstCallBuildsAndPrintsProgress() throws Exception {
        Ran first = run();
        assertThat(first.lines())
                .hasSize(3)
                .contains("palisade: building [2/9] Palisade proto")
                .endsWith("java ran");
        assertThat(first.code()).isZero();

        assertThat(run().lines()).containsExactly("java ran");
        assertThat(builds()).hasSize(1);
    }

    @Test
    void failedBuildPrintsItsErrorsAndStartsNothing() throws Exception {
        Files.createFile(checkout.resolve("broken"));
        Ran ran = run();
        assertThat(ran.code()).isEqualTo(3);
        assertThat(ran.lines()).contains("[ERROR] it is broken").doesNotContain("java ran", "[INFO] other lines");
        String last = ran.lines().get(ran.lines().size() - 1);
        assertThat(last).startsWith("palisade: the build failed; the whole log is ");
        Files.delete(Path.of(last.substring(last.lastIndexOf(' ') + 1)));
    }

    @Test
    void secondCallWaitsForTheBuildOfTheFirst() throws Exception {
        Path hold = Files.createFile(checkout.resolve("hold"));
        Path firstOutput = temporary.resolve("first");
        Path secondOutput = temporary.resolve("second");
        Process first = start(firstOutput);
        awaitText(checkout.resolve("builds"), "build");
        Process second = start(secondOutput);
        awaitText(secondOutput, "palisade: waiting for another build of ");
        Files.delete(hold);

        assertThat(ended(first, firstOutput).lines()).endsWith("java ran");
        assertThat(ended(second, secondOutput).lines()).endsWith("java ran");
        assertThat(builds()).hasSize(1);
    }

    /** An installed copy, with a Java that prints its arguments; returns its jars' folder. */
    private Path install() throws IOException {
        Path installed = Files.createDirectories(temporary.resolve("installed"));
        Path jars = Files.createDirectories(installed.resolve("lib"));
        Files.createFile(jars.resolve("palisade-demo.jar"));
        script(temporary.resolve("tools/java"), "#!/bin/sh\necho \"$@\"\n");
        script(
                Files.createDirectories(installed.resolve("bin")).resolve("palisade"),
                Files.readString(checkout.resolve("palisade")));
        checkout = installed.resolve("bin");
        return jars;
    }

    /** What the JVM says of class archives is kept from the user, and what the user asks of it is not. */
    @ParameterizedTest
    @CsvSource({"demo,palisade-demo", "status,palisade"})
    void logThatTheUserAsksOfTheJvmIsNotDisabled(String command, String jar) throws Exception {
        Files.createFile(install().resolve(jar + ".jsa"));
        Path output = temporary.resolve("output");
        Ran ran = ended(start(output, command, "-Xlog:gc -verbose:gc"), output);
        List<String> options = List.of(String.join(" ", ran.lines()).split(" "));
        assertThat(options).contains("-Xlog:disable", "-verbose:gc");
        assertThat(options.indexOf("-Xlog:gc")).isGreaterThan(options.lastIndexOf("-Xlog:disable"));
    }

    @Test
    void installedCopyStartsItsJarAndNeverBuilds() throws Exception {
        Path jars = install();
        Path installed = jars.getParent();
        Ran ran = run();
        assertThat(ran.code()).isZero();
        assertThat(ran.lines())
                .singleElement()
                .asString()
                .contains("-Dpalisade.root=" + installed + " ", "-jar " + jars.resolve("palisade-demo.jar"));
    }

    @Test
    void userWithoutWriteAccessRunsTheJarsAsTheyAre() throws Exception {
        Assumptions.assumeFalse("root".equals(System.getProperty("user.name")), "root may write everywhere");
        Path target = checkout.resolve("integration-tests/target");
        run();
        Files.setLastModifiedTime(
                checkout.resolve("pom.xml"), FileTime.from(Instant.now().plusSeconds(60)));
        Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("r-xr-xr-x"));
        try {
            Ran stale = run();
            assertThat(stale.code()).isZero();
            assertThat(stale.lines()).hasSize(2).endsWith("java ran");
            assertThat(stale.lines().get(0))
                    .contains("are newer than its jars")
                    .endsWith("running the jars as they are");
        } finally {
            Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("rwxr-xr-x"));
        }
        Files.delete(target.resolve("palisade-demo.jar"));
        Files.setPosixFilePermissions(checkout, PosixFilePermissions.fromString("r-xr-xr-x"));
        try {
            Ran unbuilt = run();
            assertThat(unbuilt.code()).isEqualTo(3);
            assertThat(unbuilt.lines()).singleElement().asString().contains("is not built, and ");
        } finally {
            Files.setPosixFilePermissions(checkout, PosixFilePermissions.fromString("rwxr-xr-x"));
        }
        assertThat(builds()).hasSize(1);
    }

    @Test
    void sourceNewerThanTheJarsIsBuiltAgain() throws Exception {
        run();
        Files.writeString(checkout.resolve("pom.xml"), "changed", StandardOpenOption.APPEND);
        Files.setLastModifiedTime(
                checkout.resolve("pom.xml"), FileTime.from(Instant.now().plusSeconds(60)));
        run();
        assertThat(builds()).hasSize(2);
    }
}
