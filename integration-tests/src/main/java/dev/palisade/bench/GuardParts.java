package dev.palisade.bench;

import dev.palisade.bench.Rounds.Measured;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** What the guard costs: its admissions, and a guarded call. */
final class GuardParts {
    static final String ADMISSIONS = "admissions, one thread";
    static final String CALLS = "unary gRPC calls, in flight: " + GuardedCalls.IN_FLIGHT + "; CPU is the server's";

    private GuardParts() {}

    static void run(LockParts.Sink sink) throws Exception {
        Path directory = Files.createTempDirectory("palisade-bench");
        try (Admissions admissions = new Admissions(directory.resolve("admissions"))) {
            sink.compare(Part.GUARD, ADMISSIONS, "signature alone", admissions.contestants());
        }
        try (GuardedCalls calls = new GuardedCalls(directory.resolve("calls"))) {
            sink.compare(Part.GUARD, CALLS, "unguarded", calls.contestants());
        } finally {
            delete(directory);
        }
    }

    /** Of one operation, of the process that is measured. */
    static double cpu(Measured round) {
        return round.cpuMicrosEach(Measured.CPU);
    }

    private static void delete(Path directory) throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(each);
            }
        }
    }
}
