package dev.palisade.faults;

import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.ScenarioFailed;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A client process in Python: {@code foreign/client.py}, with stubs that protoc makes of the contract's own files. It takes the part of a
 * {@link BusyClient} whose logical clients make unary calls only.
 */
final class ForeignClient {
    /** What a machine needs for it, as Debian calls it. */
    static final String PACKAGES = "python3-grpcio python3-protobuf protobuf-compiler protobuf-compiler-grpc";

    private static final String LOGICAL_CLIENTS = "2";
    private static final long PATIENCE_SECONDS = 60;
    private static final List<String> RESOURCES = List.of("client.py", "refusal.proto");

    private final Installation installation;
    private final String python;
    private final Path directory;

    private ForeignClient(Installation installation, String python, Path directory) {
        this.installation = installation;
        this.python = python;
        this.directory = directory;
    }

    /** Whether {@link #PACKAGES} are there. */
    static boolean isAvailable() {
        return plugin().isPresent() && python().isPresent() && succeeds(List.of("protoc", "--version"));
    }

    private static Optional<String> plugin() {
        return Stream.of("/usr/bin/grpc_python_plugin", "/usr/local/bin/grpc_python_plugin")
                .filter(file -> Files.isExecutable(Path.of(file)))
                .findFirst();
    }

    /** A python3 that is first on the PATH may be another than the one that has Debian's packages. */
    private static Optional<String> python() {
        return Stream.of("python3", "/usr/bin/python3")
                .filter(candidate -> succeeds(List.of(candidate, "-c", "import grpc, google.protobuf")))
                .findFirst();
    }

    /** Makes the stubs; empty where {@link #PACKAGES} are missing. */
    static Optional<ForeignClient> prepare(Installation installation) {
        if (!isAvailable()) {
            return Optional.empty();
        }
        Optional<String> plugin = plugin();
        Optional<String> python = python();
        Path directory = installation.home().resolve("foreign");
        try {
            Files.createDirectories(directory);
            for (String name : RESOURCES) {
                try (InputStream resource = ForeignClient.class.getResourceAsStream("/foreign/" + name)) {
                    if (resource == null) {
                        throw new ScenarioFailed("foreign/" + name + " is not in the jar");
                    }
                    Files.copy(resource, directory.resolve(name), StandardCopyOption.REPLACE_EXISTING);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        List<String> protoc = List.of(
                "protoc",
                "-I",
                installation.file("proto/src/main/protobuf/palisade/v1").toString(),
                "-I",
                directory.toString(),
                "--python_out=" + directory,
                "--grpc_out=" + directory,
                "--plugin=protoc-gen-grpc=" + plugin.orElseThrow(),
                "locks.proto",
                "refusal.proto");
        if (!succeeds(protoc)) {
            throw new ScenarioFailed(
                    "the stubs of the client in Python could not be made: " + String.join(" ", protoc));
        }
        return Optional.of(new ForeignClient(installation, python.orElseThrow(), directory));
    }

    /** Starts one; returns at once. */
    Child start(String name, String servers, long seed, int locks) {
        return Child.start(
                name,
                List.of(
                        python,
                        directory.resolve("client.py").toString(),
                        name,
                        servers,
                        installation.histories().resolve(name + ".jsonl").toString(),
                        Long.toString(seed),
                        LOGICAL_CLIENTS,
                        Integer.toString(locks)),
                Map.of("PYTHONPATH", directory.toString(), "PYTHONDONTWRITEBYTECODE", "1"));
    }

    private static boolean succeeds(List<String> command) {
        try {
            Process process = new ProcessBuilder(command)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                return false;
            }
            return process.exitValue() == 0;
        } catch (IOException e) {
            return false; // There is no such program.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
