package dev.palisade.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The folder and the terminals of one page's reader: the launcher of the checkout on the PATH, a home of its own, and ports that
 * nothing else uses in place of 7600 and 7610. Ends at {@link #close} what it has started. For one thread.
 */
final class PageTerminal implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final String LISTENING = "palisade server: listening on ";

    /** Programs of the reader that pages call. */
    private static final Map<String, String> PROGRAMS = Map.of(
            "backup.sh", "test -n \"$PALISADE_TOKEN\"",
            "bin/nightly.sh", "test -n \"$PALISADE_TOKEN\"",
            "dump.sh", "echo data",
            // The sequencer is in the environment, and its lease is alive.
            "upload.sh", "test -s \"$1\" && palisade check >/dev/null");

    private final Installation installation;
    private final Path folder;
    private final Map<String, String> environment = new HashMap<>();
    private final Deque<Child> started = new ArrayDeque<>();
    private String server = "";

    PageTerminal(Path folder) throws IOException {
        this.folder = folder;
        Path home = folder.resolve(".palisade");
        installation = Installation.at(home);
        Path launcher = Docs.ROOT.toRealPath().resolve("palisade");
        Files.createSymbolicLink(folder.resolve("palisade"), launcher);
        Path bin = Files.createDirectory(folder.resolve("bin"));
        Files.createSymbolicLink(bin.resolve("palisade"), launcher);
        for (Map.Entry<String, String> program : PROGRAMS.entrySet()) {
            Path file = Files.writeString(folder.resolve(program.getKey()), "#!/bin/sh\n" + program.getValue() + "\n");
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
        }
        environment.put("PATH", bin + ":" + System.getenv("PATH"));
        environment.put("TZ", "UTC");
        environment.put("PALISADE_HOME", home.toString());
        environment.put("PALISADE_SERVER_PORT", "0");
        environment.put("PALISADE_OBJECTS_PORT", "0");
        // A busy machine needs seconds to start and to connect.
        for (String verb : List.of(
                "RUN", "DESCRIBE", "REQUEST_RELEASE", "FORCE_RELEASE", "ACQUIRE", "RENEW", "RELEASE", "CHECK")) {
            environment.put("PALISADE_" + verb + "_TIMEOUT", "20s");
        }
    }

    /** Does what the page says, and checks what it says about the result. */
    void take(PageStep step) throws IOException, InterruptedException {
        switch (step.kind()) {
            case FILE -> give(step);
            case RUN -> run(step);
            case START -> start(step);
            case PRINTED -> awaitShown(started.getLast(), step);
            case NOT_RUN -> {}
        }
    }

    private void give(PageStep step) throws IOException {
        Path file = folder.resolve(step.name());
        Files.createDirectories(file.getParent());
        boolean isProject = step.name().equals("pom.xml");
        Files.writeString(file, isProject ? BuildRepository.offline(step.text(), folder) : here(step.text()));
    }

    private void start(PageStep step) {
        boolean isServer = step.text().endsWith("palisade server");
        String line = "cd \"$0\" && exec 2>&1 && exec " + (isServer ? step.text() : here(step.text()));
        Child child = Child.start(step.at(), List.of("sh", "-c", line, folder.toString()), environment);
        started.add(child);
        String last = awaitShown(child, step);
        if (last.startsWith(LISTENING)) {
            isAt(last.substring(LISTENING.length()));
        }
    }

    private String awaitShown(Child child, PageStep step) {
        String last = "";
        for (String shown : step.shown()) {
            last = child.await(printed -> ShownOutput.isLike(shown, printed, folder.toString()), PATIENCE);
        }
        return last;
    }

    private void run(PageStep step) throws IOException, InterruptedException {
        String script = here(step.text());
        if (step.name().equals("cron")) {
            // Without cron's own PATH, and without the five fields of the time.
            script = script.replaceAll("(?m)^PATH=.*\n", "").replaceAll("(?m)^(?:\\S+ +){5}", "");
        }
        Path output = Files.createTempFile(folder, "output", "");
        ProcessBuilder builder = new ProcessBuilder("sh", "-e", "-c", script)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        builder.environment().putAll(environment);
        Process process = builder.start();
        process.getOutputStream().close();
        boolean ended = process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        List<String> printed = Files.readAllLines(output);
        assertThat(ended).as("%s ended; it printed %s", step.at(), printed).isTrue();
        assertThat(process.exitValue())
                .as("exit code of %s:%n%s%nIt printed %s", step.at(), script, printed)
                .isZero();
        if (!step.shown().isEmpty()) {
            assertThat(printed)
                    .as("%s prints what the page shows: %s", step.at(), step.shown())
                    .matches(lines -> ShownOutput.areLike(step.shown(), List.copyOf(lines), folder.toString()));
        }
    }

    /** The page's text with the address of the lock server, which is started where the page has not done so yet. */
    private String here(String text) {
        if (server.isEmpty()) {
            Installation.Service service = installation.server();
            started.add(service.child());
            isAt(service.address());
        }
        return text.replace("127.0.0.1:7600", server).replace("locks:7600", server);
    }

    private void isAt(String address) {
        server = address;
        environment.put("PALISADE_SERVER", address);
    }

    @Override
    public void close() {
        started.descendingIterator().forEachRemaining(Child::kill);
    }
}
