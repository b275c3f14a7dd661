package dev.palisade.objects;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The real command in a process of its own, on this test's class path. */
final class ObjectsProcess implements AutoCloseable {
    private static final String LISTENING = "palisade objects: listening on 127.0.0.1:";

    private final Process process;
    private final Path errors;

    private ObjectsProcess(Process process, Path errors) {
        this.process = process;
        this.errors = errors;
    }

    /** @param home stands in for the user's home: PALISADE_HOME, no other setting from the environment */
    static ObjectsProcess launch(Path home, String... arguments) throws IOException {
        Path errors = Files.createTempFile(home, "stderr", ".txt");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xshare:auto",
                "--enable-native-access=ALL-UNNAMED", // As the jar's manifest says it.
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                "dev.palisade.objects.Main"));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(errors.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("PALISADE_"));
        builder.environment().put("PALISADE_HOME", home.toString());
        return new ObjectsProcess(builder.start(), errors);
    }

    /** Waits for the line that says where it listens. */
    int port() throws IOException {
        BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
        List<String> lines = new ArrayList<>();
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            lines.add(line);
            if (line.startsWith(LISTENING)) {
                return Integer.parseInt(line.substring(LISTENING.length()));
            }
        }
        throw new AssertionError("never listened: " + lines + Files.readAllLines(errors));
    }

    /** What it wrote until it ended by itself. */
    record Ended(int code, List<String> out, List<String> err) {}

    Ended awaitEnd() throws IOException, InterruptedException {
        // One that runs on never closes its output: read beside, and killed when the time is over.
        CompletableFuture<List<String>> lines = CompletableFuture.supplyAsync(
                () -> process.inputReader(StandardCharsets.UTF_8).lines().toList());
        if (!process.waitFor(60, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError("did not end within 60 s: " + lines.join() + Files.readAllLines(errors));
        }
        List<String> out = lines.join();
        return new Ended(process.exitValue(), out, Files.readAllLines(errors));
    }

    /** Waits for a line with this text on standard error. */
    void awaitError(String text) {
        await().atMost(60, TimeUnit.SECONDS)
                .until(() -> Files.readString(errors).contains(text));
    }

    /** SIGTERM. */
    Ended stop() throws IOException, InterruptedException {
        // Not Process.destroy: it would close what is still to be read.
        process.toHandle().destroy();
        return awaitEnd();
    }

    /** SIGKILL: nothing of it runs any more when this returns. */
    void kill() throws InterruptedException {
        process.destroyForcibly();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
