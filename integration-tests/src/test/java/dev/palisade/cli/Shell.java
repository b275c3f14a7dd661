package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.PalisadeClient;
import dev.palisade.redis.DefaultSignals;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/** A lock server, and a shell in which {@code palisade} is run. What a test leaves running is killed at its end. */
final class Shell implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofMinutes(2);

    /** Tells its own number and its child's, and ends by a SIGKILL only. */
    static final String STUBBORN =
            "trap 'echo asked to end' TERM INT; (trap '' TERM INT; exec sleep 600) & echo pids $$ $!;"
                    + " while :; do wait; sleep 0.1; done";

    private final Installation installation = Installation.fresh();
    private final List<Child> children = new ArrayList<>();
    private final Service server;

    Shell(String... serverOptions) {
        server = installation.server(serverOptions);
    }

    /** A palisade that ended. */
    record Ran(int code, List<String> out, List<String> err) {}

    /** A palisade whose command runs, and the numbers the command told: its own and its child's. */
    record Running(Child palisade, List<Long> pids) {
        boolean commandAlive() {
            return pids.stream().anyMatch(Shell::alive);
        }

        void awaitCommandGone(Duration limit) {
            Awaitility.await().atMost(limit).pollInterval(Duration.ofMillis(20)).until(() -> !commandAlive());
        }
    }

    String serverAddress() {
        return server.address();
    }

    Service server() {
        return server;
    }

    Installation installation() {
        return installation;
    }

    PalisadeClient client(String owner) {
        return PalisadeClient.builder()
                .servers(server.address())
                .owner(owner)
                .callTimeout(Duration.ofMinutes(1))
                .build();
    }

    List<String> line(String... arguments) {
        List<String> line = Child.java(
                "-Djava.io.tmpdir=" + temporary(),
                "-jar",
                installation.file("client-sdk/cli/target/palisade.jar").toString());
        line.addAll(List.of(arguments));
        return line;
    }

    /** The folder for temporary files of every palisade that is run here. */
    Path temporary() {
        try {
            return Files.createDirectories(installation.home().resolve("tmp"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits until no file of a palisade that ran is left in {@link #temporary}. */
    void awaitNothingLeft() {
        Awaitility.await().atMost(PATIENCE).until(() -> {
            try (Stream<Path> left = Files.list(temporary())) {
                return left.findAny().isEmpty();
            }
        });
    }

    /** With the dispositions that a terminal's shell gives: the build may run in the background and ignore signals itself. */
    private List<String> signallable(String... arguments) {
        return DefaultSignals.of(line(arguments), "HUP", "INT", "QUIT", "TERM");
    }

    Ran run(String... arguments) throws IOException, InterruptedException {
        return run(Map.of(), arguments);
    }

    /**
     * {@link #run(String...)} in this process, on this thread: for what the command line says and not for how it starts. A JVM of its own
     * is most of what a short command costs.
     */
    Ran here(String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(1, List.of("--server", server.address()));
        if (all.stream().noneMatch(each -> each.startsWith("--timeout"))) {
            all.addAll(1, List.of("--timeout", "20s"));
        }
        try (ThreadOutput output = ThreadOutput.capture()) {
            int code = Main.run(all.toArray(new String[0]));
            return new Ran(code, output.out(), output.err());
        }
    }

    Ran run(Map<String, String> environment, String... arguments) throws IOException, InterruptedException {
        Path out = Files.createTempFile(installation.home(), "out", "");
        Path err = Files.createTempFile(installation.home(), "err", "");
        ProcessBuilder builder = new ProcessBuilder(signallable(arguments))
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        builder.environment().putAll(settings());
        builder.environment().putAll(environment);
        Process process = builder.start();
        assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        return new Ran(process.exitValue(), lines(out), lines(err));
    }

    /** On a busy machine a client needs seconds to start and to connect. */
    private Map<String, String> settings() {
        Map<String, String> settings = new HashMap<>(Map.of("PALISADE_SERVER", server.address()));
        for (String verb : List.of(
                "RUN",
                "DESCRIBE",
                "LIST",
                "HISTORY",
                "WATCH",
                "ACQUIRE",
                "RENEW",
                "RELEASE",
                "SESSIONS",
                "STATUS",
                "CHECK")) {
            settings.put("PALISADE_" + verb + "_TIMEOUT", "20s");
        }
        settings.put("PALISADE_REQUEST_RELEASE_TIMEOUT", "20s");
        settings.put("PALISADE_FORCE_RELEASE_TIMEOUT", "20s");
        return settings;
    }

    private static List<String> lines(Path file) throws IOException {
        return Files.readAllLines(file, StandardCharsets.UTF_8);
    }

    Child start(String... arguments) {
        return start(Map.of(), arguments);
    }

    Child start(Map<String, String> environment, String... arguments) {
        Map<String, String> all = new HashMap<>(settings());
        all.putAll(environment);
        Child child = Child.start("palisade", signallable(arguments), all);
        children.add(child);
        return child;
    }

    /** Starts {@link #STUBBORN} under a lock. */
    Running stubborn(String lock, String... options) {
        return stubborn(Map.of(), lock, options);
    }

    Running stubborn(Map<String, String> environment, String lock, String... options) {
        List<String> arguments = new ArrayList<>(List.of("run", lock));
        arguments.addAll(List.of(options));
        arguments.addAll(List.of("--", "sh", "-c", STUBBORN));
        Child palisade = start(environment, arguments.toArray(new String[0]));
        String[] told = palisade.await(line -> line.startsWith("pids ")).split(" ", 3);
        return new Running(palisade, List.of(Long.valueOf(told[1]), Long.valueOf(told[2])));
    }

    /** The watchdog of that palisade. */
    static ProcessHandle watchdog(Child palisade) {
        return ProcessHandle.of(palisade.pid())
                .orElseThrow()
                .children()
                .findFirst()
                .orElseThrow();
    }

    static void signal(String name, long pid) throws IOException, InterruptedException {
        assertThat(new ProcessBuilder("sh", "-c", "kill -" + name + " " + pid)
                        .start()
                        .waitFor())
                .isZero();
    }

    /** Whether the process runs, or is stopped; one that has ended and is not yet waited for does not. */
    static boolean alive(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
            return stat.charAt(stat.lastIndexOf(')') + 2) != 'Z';
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public void close() {
        children.forEach(Child::close);
        server.child().kill();
        installation.close();
    }
}
