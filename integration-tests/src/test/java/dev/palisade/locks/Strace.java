package dev.palisade.locks;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.palisade.scenario.Child;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * What a disk may do to a process, done by strace to the system calls of a running one: from the moment of attaching its syncs
 * fail or take their time. Where strace is missing or may not trace, the test is skipped and says so.
 */
final class Strace implements AutoCloseable {
    private static final List<String> SYNCS = List.of("fsync", "fdatasync");

    private final Child strace;
    private final Path trace;

    private Strace(Child strace, Path trace) {
        this.strace = strace;
        this.trace = trace;
    }

    static void assumePresent() throws InterruptedException {
        boolean traces;
        try {
            traces = new ProcessBuilder("strace", "-o", "/dev/null", "true")
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException e) {
            traces = false;
        }
        assumeTrue(traces, "skipped: strace is not installed, or may not trace");
    }

    /** The sync that is the {@code number}th of its thread from now fails, once; later ones would work. */
    static Strace failSync(long pid, int number) {
        return attach(pid, ":error=EIO:when=" + number);
    }

    /** Every sync from now on takes so much longer. */
    static Strace slowSyncs(long pid, long millis) {
        return attach(pid, ":delay_exit=" + millis * 1_000);
    }

    /** How many syncs have worked since it was attached, of all threads of a process that has ended. */
    long worked() throws IOException {
        return Files.readAllLines(trace).stream()
                .filter(line -> line.endsWith(" = 0"))
                .count();
    }

    private static Strace attach(long pid, String what) {
        Path trace;
        try {
            trace = Files.createTempFile("palisade-strace", "");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        trace.toFile().deleteOnExit();
        String syncs = String.join(",", SYNCS);
        Child strace = Child.start(
                "strace",
                List.of(
                        "sh",
                        "-c",
                        "exec strace -f -o " + trace + " -e trace=" + syncs + " -e inject=" + syncs + what + " -p "
                                + pid + " 2>&1"),
                Map.of());
        strace.await(line -> line.contains("attached"));
        return new Strace(strace, trace);
    }

    /**
     * SIGKILL: a strace that is asked politely waits for the process to stop, and a process that has ended waits for its strace.
     * Whatever was delayed goes on.
     */
    @Override
    public void close() {
        strace.kill();
    }
}
