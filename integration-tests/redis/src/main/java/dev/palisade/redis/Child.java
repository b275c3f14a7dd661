package dev.palisade.redis;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** A child process and the signals it gets. Never outlives this JVM, in whichever way that ends. Every wait is bounded. */
final class Child {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    /** $$ is the shell here and the program after exec; the end of the pipe on descriptor 3 is the end of this JVM. */
    private static final String UNTIL_THE_PIPE_ENDS =
            "exec 3<&0 </dev/null; " + "(cat <&3; kill -KILL $$) >/dev/null 2>&1 & " + "exec 3<&- env \"$@\"";

    private final Process process;

    private Child(Process process) {
        this.process = process;
    }

    /** Starts {@code command} in {@code folder}; both of its outputs are added to {@code log}. */
    static Child start(List<String> command, Map<String, String> environment, Path folder, Path log) {
        List<String> all = new ArrayList<>(List.of("sh", "-c", UNTIL_THE_PIPE_ENDS, "sh"));
        environment.forEach((name, value) -> all.add(name + "=" + value));
        all.addAll(command);
        try {
            return new Child(new ProcessBuilder(all)
                    .directory(folder.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                    .start());
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start " + command.get(0), e);
        }
    }

    long pid() {
        return process.pid();
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** SIGKILL, and returns when it is gone. */
    void kill() {
        process.destroyForcibly();
        await("end", () -> !process.isAlive());
    }

    /** SIGTERM, and returns when it is gone; a frozen one is continued. */
    void terminate() {
        process.destroy();
        kill("CONT"); // Or a frozen one would never see the other. No matter if it has ended already.
        await("end", () -> !process.isAlive());
    }

    /** SIGSTOP, and returns when the system says that it stands still. */
    void freeze() {
        signal("STOP");
        await("stand still", () -> state() == 'T');
    }

    /** SIGCONT. */
    void thaw() {
        signal("CONT");
    }

    /** Returns when {@code done}, which is looked at every few milliseconds; fails with {@code what} it does not do. */
    void await(String what, BooleanSupplier done) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        try {
            while (!done.getAsBoolean()) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("process " + pid() + " does not " + what);
                }
                TimeUnit.MILLISECONDS.sleep(5);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted before process " + pid() + " could " + what, e);
        }
    }

    private void signal(String signal) {
        String complaint = kill(signal);
        if (!complaint.isEmpty()) {
            throw new IllegalStateException("no SIG" + signal + " for process " + pid() + ": " + complaint.trim());
        }
    }

    /** Returns what is wrong, or nothing. By the shell's own kill: a bare system has no other. */
    private String kill(String signal) {
        return run("sh", "-c", "kill -" + signal + " " + pid());
    }

    /** The system's letter for the state of the process: T stands still. */
    private char state() {
        try {
            Path stat = Path.of("/proc", Long.toString(pid()), "stat");
            if (Files.exists(stat)) {
                String line = Files.readString(stat);
                return line.charAt(line.lastIndexOf(')') + 2);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        String state = run("ps", "-o", "state=", "-p", Long.toString(pid())).trim();
        return state.isEmpty() ? '?' : state.charAt(0);
    }

    private static String run(String... command) {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot run " + command[0], e);
        }
    }
}
