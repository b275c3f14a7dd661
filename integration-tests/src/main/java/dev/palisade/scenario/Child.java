package dev.palisade.scenario;

import dev.palisade.redis.DefaultSignals;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * A process of our own: what it prints is gathered line by line, and it can be stopped where it stands (SIGSTOP),
 * continued and killed. Every wait is bounded. One thread uses it; only {@link #send} is open to several.
 */
public final class Child implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    /** Begins each line of standard error among those of standard output. */
    private static final String ERROR = "! ";

    private static final String END = "\0end of output";

    private final String name;
    private final Process process;
    private final Writer stdin;
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
    private final List<String> seen = new ArrayList<>();

    private Child(String name, Process process, Consumer<String> listener) {
        this.name = name;
        this.process = process;
        this.stdin = process.outputWriter(StandardCharsets.UTF_8);
        gather(process.getInputStream(), "", listener);
        gather(process.getErrorStream(), ERROR, line -> {});
    }

    /** Starts {@code command} with {@code environment} added to ours. It is killed when this process ends. */
    public static Child start(String name, List<String> command, Map<String, String> environment) {
        return start(name, command, environment, line -> {});
    }

    /**
     * {@link #start(String, List, Map)} with a {@code listener} to every line of standard output, told on a thread of its own
     * and before anyone who awaits the line.
     */
    public static Child start(
            String name, List<String> command, Map<String, String> environment, Consumer<String> listener) {
        try {
            // Ended by SIGTERM, even if the parent of this JVM ignores that.
            ProcessBuilder builder = new ProcessBuilder(DefaultSignals.of(command, "TERM"));
            builder.environment().putAll(environment);
            Process process = builder.start();
            Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
            return new Child(name, process, listener);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start " + name, e);
        }
    }

    /** This JVM's {@code java}, with the options every child of ours gets. */
    public static List<String> java(String... arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Xmx256m",
                "-Dfile.encoding=UTF-8"));
        command.addAll(ClassArchives.options(List.of(arguments)));
        command.addAll(List.of(arguments));
        return command;
    }

    public String name() {
        return name;
    }

    public long pid() {
        return process.pid();
    }

    /** Writes a line to the process's standard input; a stopped process reads it when it is continued. */
    public synchronized void send(String line) {
        try {
            stdin.write(line);
            stdin.write('\n');
            stdin.flush();
        } catch (IOException e) {
            throw new ScenarioFailed(name + " no longer reads its input; it printed: " + seen);
        }
    }

    /** Sends a line and returns the next line of output. */
    public String ask(String line) {
        send(line);
        return await(any -> true);
    }

    /** Returns the next line of standard output that {@code wanted} accepts; what comes before it is passed over. */
    public String await(Predicate<String> wanted) {
        return await(wanted, PATIENCE);
    }

    public String await(Predicate<String> wanted, Duration patience) {
        return awaitAny(line -> !line.startsWith(ERROR) && wanted.test(line), patience);
    }

    /** Returns when a line of standard error contained {@code text}, also if that was before. */
    public void awaitError(String text, Duration patience) {
        Predicate<String> wanted = line -> line.startsWith(ERROR) && line.contains(text);
        if (seen.stream().noneMatch(wanted)) {
            var unused = awaitAny(wanted, patience);
        }
    }

    private String awaitAny(Predicate<String> wanted, Duration patience) {
        long deadline = System.nanoTime() + patience.toNanos();
        while (true) {
            String line = next(deadline, patience);
            if (line.equals(END)) {
                throw new ScenarioFailed(name + " ended; it printed: " + seen);
            }
            seen.add(line);
            if (wanted.test(line)) {
                return line;
            }
        }
    }

    private String next(long deadline, Duration patience) {
        try {
            String line = lines.poll(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
            if (line == null) {
                throw new ScenarioFailed(
                        name + " did not answer within " + patience.toSeconds() + " s; it printed: " + seen);
            }
            return line;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ScenarioFailed("interrupted while waiting for " + name);
        }
    }

    /** Waits until the process has ended and returns its standard output: what nobody has awaited of it. */
    public List<String> remainingOutput() {
        List<String> output = new ArrayList<>();
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            String line = next(deadline, PATIENCE);
            if (line.equals(END)) {
                return output;
            }
            seen.add(line);
            if (!line.startsWith(ERROR)) {
                output.add(line);
            }
        }
    }

    /** Returns when the process has ended by itself; fails after {@code patience}. */
    public void awaitEnd(Duration patience) {
        try {
            if (!process.waitFor(patience.toSeconds(), TimeUnit.SECONDS)) {
                throw new ScenarioFailed(
                        name + " did not end within " + patience.toSeconds() + " s; it printed: " + seen);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ScenarioFailed("interrupted while waiting for " + name);
        }
    }

    /** Stops the process where it stands and returns when the system says that it is stopped. */
    public void pause() {
        signal("STOP");
        awaitState('T');
    }

    /** Continues a stopped process. */
    public void resume() {
        signal("CONT");
    }

    /** SIGKILL, and waits for the end. */
    public void kill() {
        process.destroyForcibly();
        awaitExit();
    }

    /** SIGTERM, and returns the exit code. */
    public int terminate() {
        process.destroy();
        return awaitExit();
    }

    public int awaitExit() {
        try {
            if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                throw new ScenarioFailed(name + " does not end");
            }
            return process.exitValue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ScenarioFailed("interrupted while waiting for " + name);
        }
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    @Override
    public void close() {
        if (process.isAlive()) {
            process.destroyForcibly();
        }
    }

    private void signal(String signal) {
        try {
            int code = new ProcessBuilder("sh", "-c", "kill -" + signal + " " + process.pid())
                    .inheritIO()
                    .start()
                    .waitFor();
            if (code != 0) {
                throw new ScenarioFailed("cannot send SIG" + signal + " to " + name + ": is it still running?");
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot run sh", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ScenarioFailed("interrupted");
        }
    }

    private void awaitState(char wanted) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (state() != wanted) {
            if (System.nanoTime() > deadline) {
                throw new ScenarioFailed(name + " does not reach state " + wanted);
            }
            Thread.onSpinWait();
        }
    }

    /** The system's letter for the process's state: T is stopped. */
    private char state() {
        try {
            Path stat = Path.of("/proc", Long.toString(process.pid()), "stat");
            if (Files.exists(stat)) {
                String line = Files.readString(stat);
                return line.charAt(line.lastIndexOf(')') + 2);
            }
            Process ps = new ProcessBuilder("ps", "-o", "state=", "-p", Long.toString(process.pid())).start();
            String state = new String(ps.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
            return state.isEmpty() ? '?' : state.charAt(0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void gather(InputStream stream, String prefix, Consumer<String> listener) {
        Thread reader = new Thread(
                () -> {
                    try (BufferedReader in =
                            new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
                        for (String line = in.readLine(); line != null; line = in.readLine()) {
                            listener.accept(line);
                            lines.add(prefix + line);
                        }
                    } catch (IOException e) {
                        lines.add(ERROR + e);
                    }
                    if (prefix.isEmpty()) {
                        lines.add(END);
                    }
                },
                name + "-output");
        reader.setDaemon(true);
        reader.start();
    }
}
