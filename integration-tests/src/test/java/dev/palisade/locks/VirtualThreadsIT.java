package dev.palisade.locks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.NewerJdk;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * A virtual thread that waits for a lock leaves its carrier: a process of a JDK that has virtual threads runs thousands of them on the
 * carriers of this machine, and its flight recording has no pinned one with our code on the stack. Not counted is who was pinned while
 * the JDK loads or links a class, which happens once to whoever comes first. Skipped where no such JDK is found.
 */
@Execution(ExecutionMode.CONCURRENT)
class VirtualThreadsIT {
    private static final int THREADS = 2_000;
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final List<String> LOADING = List.of(
            "pinnedReason = \"Waited for initialization of ",
            " java.lang.ClassLoader.loadClass(",
            " java.lang.invoke.MethodHandleNatives.");

    @Test
    void noneIsPinnedByAWaitForALock(@TempDir Path directory) {
        List<String> pinned = pinnedStacks(directory, List.of());
        assertThat(pinned).isEmpty();
    }

    @Test
    void aWaitThatIsPinnedOnPurposeIsSeen(@TempDir Path directory) {
        assertThat(pinnedStacks(directory, List.of("pin"))).anyMatch(event -> event.contains("client.BlockingWait."));
    }

    /** What of a recording is a pinned thread and names our code. */
    private static List<String> pinnedStacks(Path directory, List<String> options) {
        Optional<Path> found = NewerJdk.with("jfr");
        assumeTrue(found.isPresent(), NewerJdk.MISSING);
        Path jdk = found.get();
        Path recording = directory.resolve("threads.jfr");
        try (Installation installation = Installation.fresh()) {
            Installation.Service server = installation.server();
            try {
                List<String> command = new ArrayList<>(List.of(
                        jdk.resolve("bin/java").toString(),
                        "-Xmx256m",
                        "-XX:StartFlightRecording:settings=default,jdk.VirtualThreadPinned#threshold=1ms,filename="
                                + recording,
                        "-Dlogback.configurationFile=logback-demo.xml",
                        "-cp",
                        System.getProperty("java.class.path"),
                        VirtualThreads.class.getName(),
                        server.address(),
                        Integer.toString(options.isEmpty() ? THREADS : 10)));
                command.addAll(options);
                try (Child child = Child.start("virtual threads", command, Map.of())) {
                    String line = child.await(any -> any.startsWith("done ") || any.startsWith("failed"), PATIENCE);
                    assertThat(line).isEqualTo("done " + (options.isEmpty() ? THREADS : 10));
                    assertThat(child.awaitExit()).isZero();
                }
            } finally {
                server.child().kill();
            }
        }
        return events(jdk, recording).stream()
                .filter(event ->
                        event.contains("dev.palisade.") && LOADING.stream().noneMatch(event::contains))
                .toList();
    }

    private static List<String> events(Path jdk, Path recording) {
        Child print = Child.start(
                "jfr",
                List.of(
                        jdk.resolve("bin/jfr").toString(),
                        "print",
                        "--stack-depth",
                        "64",
                        "--events",
                        "jdk.VirtualThreadPinned",
                        recording.toString()),
                Map.of());
        String text = String.join("\n", print.remainingOutput());
        assertThat(print.awaitExit()).isZero();
        return Stream.of(text.split("(?=jdk.VirtualThreadPinned \\{)", -1))
                .filter(event -> event.startsWith("jdk.VirtualThreadPinned {"))
                .toList();
    }
}
