package dev.palisade.server;

import dev.palisade.redis.DefaultSignals;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;

/** One real process of the jar's entry, with its output in files. */
final class ServerProcess implements AutoCloseable {
    private static final Pattern LISTENING = Pattern.compile("listening on \\S+:(\\d+)");

    final Process process;
    private final Path out;
    private final Path err;

    private ServerProcess(Process process, Path out, Path err) {
        this.process = process;
        this.out = out;
        this.err = err;
    }

    static ServerProcess start(Path home, Map<String, String> environment, String... arguments) throws IOException {
        List<String> line = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx128m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xshare:auto",
                "--enable-native-access=ALL-UNNAMED", // As the jar's manifest says it.
                "-cp",
                System.getProperty("java.class.path"),
                "dev.palisade.server.Main"));
        line.addAll(List.of(arguments));
        Files.createDirectories(home);
        Path out = Files.createTempFile(home, "out", ".txt");
        Path err = Files.createTempFile(home, "err", ".txt");
        ProcessBuilder builder = new ProcessBuilder(DefaultSignals.of(line, "TERM"))
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("PALISADE"));
        builder.environment().put("PALISADE_HOME", home.resolve("palisade").toString());
        builder.environment().putAll(environment);
        return new ServerProcess(builder.start(), out, err);
    }

    /** A server on a free port, with its directories below {@code home}. */
    static ServerProcess server(Path home) throws IOException {
        return start(home, Map.of(), "server", "--port", "0");
    }

    int port() {
        Awaitility.await()
                .atMost(120, TimeUnit.SECONDS)
                .until(() -> LISTENING.matcher(out()).find() || !process.isAlive());
        Matcher listening = LISTENING.matcher(out());
        if (!listening.find()) {
            throw new AssertionError("does not listen: " + out() + err());
        }
        return Integer.parseInt(listening.group(1));
    }

    int exitCode() throws InterruptedException {
        if (!process.waitFor(120, TimeUnit.SECONDS)) {
            throw new AssertionError("does not end: " + out() + err());
        }
        return process.exitValue();
    }

    void kill() throws InterruptedException {
        process.destroyForcibly();
        process.waitFor();
    }

    String out() {
        return text(out);
    }

    String err() {
        return text(err);
    }

    private static String text(Path file) {
        try {
            return Files.readString(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
