package dev.palisade.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.redis.FreePort;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.PlainHttpService;
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
 * nothing else uses in place of 7600, 7601, 7610, 7620 and 8080. Ends at {@link #close} what it has started. For one thread.
 */
final class PageTerminal implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final String LISTENING = "palisade server: listening on ";

    /** Addresses that pages name, of which a reader has one only. */
    private static final String SERVICE = "127.0.0.1:8080";

    private static final String GATEWAY = "127.0.0.1:7620";

    private static final String ADMIN_PORT = "7601";

    /** Programs of the reader that pages call. */
    private static final Map<String, String> PROGRAMS = Map.of(
            "backup.sh", "test -n \"$PALISADE_TOKEN\"",
            "bin/nightly.sh", "test -n \"$PALISADE_TOKEN\"",
            "dump.sh", "echo data",
            // The sequencer is in the environment, and its lease is alive.
            "upload.sh", "test -s \"$1\" && palisade check >/dev/null");

    private final Installation installation;
    private final Path folder;
    private final ReaderProgram program;
    private final boolean startsServer;
    private final Map<String, String> environment = new HashMap<>();
    private final Deque<Child> started = new ArrayDeque<>();
    private String server = "";
    private String service;
    private String gateway = "";
    private String adminPort = "";

    /**
     * @param program runs the code and the SQL of the page
     * @param startsServer whether a step starts the lock server; else it is there from the beginning
     */
    PageTerminal(Path folder, ReaderProgram program, boolean startsServer) throws IOException {
        this.folder = folder;
        this.program = program;
        this.startsServer = startsServer;
        service = program.service();
        Path home = folder.resolve(".palisade");
        installation = Installation.at(home);
        Path launcher = Docs.ROOT.toRealPath().resolve("palisade");
        Files.createSymbolicLink(folder.resolve("palisade"), launcher);
        Path bin = Files.createDirectory(folder.resolve("bin"));
        Files.createSymbolicLink(bin.resolve("palisade"), launcher);
        for (Map.Entry<String, String> each : PROGRAMS.entrySet()) {
            Path file = Files.writeString(folder.resolve(each.getKey()), "#!/bin/sh\n" + each.getValue() + "\n");
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
    void take(PageStep step) throws Exception {
        switch (step.kind()) {
            case FILE -> give(step);
            case RUN -> run(step);
            case START -> start(step);
            case PRINTED -> awaitShown(started.getLast(), step);
            case SQL -> program.sql(step.text());
            case SNIPPET -> program.run(step.name(), this);
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
        String command = step.startsServer() ? withAdminPort(step.text()) : here(step.text());
        String line = "cd \"$0\" && exec 2>&1 && exec " + command;
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

    /** The page's text with the addresses of this reader's processes. */
    private String here(String text) {
        String locks = startsServer && server.isEmpty() ? "127.0.0.1:7600" : lockServer();
        return withAdminPort(text)
                .replace("127.0.0.1:7600", locks)
                .replace("locks:7600", locks)
                .replace(SERVICE, text.contains(SERVICE) ? service() : "")
                .replace(GATEWAY, text.contains(GATEWAY) ? gateway() : "");
    }

    /** Address of the lock server, which is started at first use. */
    String lockServer() {
        if (server.isEmpty()) {
            Installation.Service locks = installation.server();
            started.add(locks.child());
            isAt(locks.address());
        }
        return server;
    }

    /** The reader's own service: one that knows nothing of locks. */
    private String service() {
        if (service.isEmpty()) {
            Installation.Service plain = installation.service("service", PlainHttpService.class, List.of(), line -> {});
            started.add(plain.child());
            service = plain.address();
        }
        return service;
    }

    /** Address of the page's gateway. */
    String gateway() {
        if (gateway.isEmpty()) {
            gateway = "127.0.0.1:" + FreePort.any();
        }
        return gateway;
    }

    private String withAdminPort(String text) {
        if (adminPort.isEmpty() && text.contains(ADMIN_PORT)) {
            adminPort = Integer.toString(FreePort.any());
        }
        return text.replace(ADMIN_PORT, adminPort);
    }

    /** The keys that the page's servers sign and verify with. */
    Path keyset() {
        return installation.home().resolve("keys").resolve("sequencers.json");
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
