package dev.palisade.cli.watchdog;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/**
 * A launcher that starts the command as leader of its own process group, on the standard streams of this process. Java
 * cannot do that, so it uses {@code setsid}, or a shell with job control where {@code setsid} is missing.
 */
final class CommandLauncher {
    /** Writes the id of the process that it starts, then waits for it, also across stop and continue. */
    private static final String JOB = "set -m; f=$1; shift; \"$@\" <&0 & p=$!; echo \"$p\" >\"$f\";"
            + " wait \"$p\"; c=$?; while kill -0 \"$p\" 2>/dev/null; do wait \"$p\"; c=$?; done; exit \"$c\"";

    // The probe is not the last command: a shell may exec its last command.
    private static final String PROBE = "set -m; sh -c 'kill -0 -$$'; exit $?";
    private static final long PID_MILLIS_MAX = 5_000;

    private CommandLauncher() {}

    /**
     * A running command.
     *
     * @param process ends as the command ends
     * @param pid of the command's first process, which leads the group
     */
    record Running(Process process, long pid) {}

    /** The path of {@code setsid}; empty if it is not installed. */
    static Optional<Path> setsid() {
        Executable found = Executable.find("setsid", System.getenv("PATH"));
        return found.runnable() ? Optional.ofNullable(found.path()) : Optional.empty();
    }

    /** @throws IOException in one line: what is missing, or the error of the system */
    static Running start(List<String> command, Map<String, String> environment) throws IOException {
        Optional<Path> setsid = setsid();
        if (setsid.isEmpty()) {
            return asJob(command, environment);
        }
        List<String> line = new ArrayList<>();
        line.add(setsid.get().toString());
        line.add("--");
        line.addAll(command);
        Process process = process(line, environment).start();
        return new Running(process, process.pid());
    }

    private static Running asJob(List<String> command, Map<String, String> environment) throws IOException {
        List<String> line = new ArrayList<>(List.of(shell(), "-c", JOB, "palisade"));
        Path folder = Files.createTempDirectory("palisade-");
        Path pid = folder.resolve("pid");
        try {
            line.add(pid.toString());
            line.addAll(command);
            Process process = process(line, environment).start();
            return new Running(process, awaitPid(process, pid));
        } finally {
            Files.deleteIfExists(pid);
            Files.deleteIfExists(folder);
        }
    }

    private static ProcessBuilder process(List<String> line, Map<String, String> environment) {
        ProcessBuilder builder = new ProcessBuilder(line).inheritIO();
        builder.environment().putAll(environment);
        return builder;
    }

    /** A shell whose jobs get their own groups without a terminal; some shells accept the option without effect. */
    private static String shell() throws IOException {
        for (String shell : List.of("sh", "bash")) {
            if (Executable.find(shell, System.getenv("PATH")).runnable() && hasJobControl(shell)) {
                return shell;
            }
        }
        throw new IOException(
                "the command cannot get a process group of its own; put setsid (util-linux, busybox) on the PATH");
    }

    private static boolean hasJobControl(String shell) throws IOException {
        try {
            return new ProcessBuilder(shell, "-c", PROBE)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .redirectError(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor()
                    == 0;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    private static long awaitPid(Process process, Path file) throws IOException {
        long deadline = System.nanoTime() + PID_MILLIS_MAX * 1_000_000;
        while (System.nanoTime() < deadline) {
            if (Files.exists(file)) {
                String text = Files.readString(file);
                if (text.endsWith("\n")) {
                    return Long.parseLong(text.strip());
                }
            }
            LockSupport.parkNanos(1_000_000);
        }
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        throw new IOException(
                "the shell does not say which process it started; put setsid (util-linux, busybox) on the PATH");
    }
}
