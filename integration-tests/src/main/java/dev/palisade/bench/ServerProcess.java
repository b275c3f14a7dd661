package dev.palisade.bench;

import dev.palisade.scenario.Child;
import dev.palisade.scenario.ClassArchives;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.ScenarioFailed;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * {@code palisade server}, {@code palisade objects} or {@code palisade gateway} in a JVM of its own, as {@code ./palisade} starts it: with the JVM's defaults
 * and an archive of its classes, unlike the servers of the tests, which are to stay small.
 */
final class ServerProcess implements AutoCloseable {
    private static final String LISTENING = "listening on ";
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final List<String> LOCKS = List.of("lock-server/target/palisade-server.jar", "server");
    private static final List<String> OBJECTS = List.of("resource-guard/objects/target/palisade-objects.jar");
    private static final List<String> GATEWAY = List.of("resource-guard/gateway/target/palisade-gateway.jar");

    private final Installation home;
    private final boolean first;
    private final List<String> what;
    private final Map<String, String> environment;
    private final List<String> options;
    private Child child;
    private String address = "";

    /** @param first whether the home is this one's, and goes with it */
    private ServerProcess(
            Installation home,
            boolean first,
            List<String> what,
            Map<String, String> environment,
            List<String> options) {
        this.home = home;
        this.first = first;
        this.what = what;
        this.environment = environment;
        this.options = options;
        this.child = begin();
    }

    /** A lock server with its own data directory; returns when it listens. */
    static ServerProcess locks(List<String> options) {
        return start(Installation.fresh(), true, LOCKS, Map.of(), anyPort(options));
    }

    /** A lock server with its locks in a store under a prefix of its own; returns when it listens. */
    static ServerProcess locksIn(String store, List<String> options) {
        return start(
                Installation.fresh(),
                true,
                LOCKS,
                Map.of(
                        "PALISADE_SERVER_STORE",
                        store,
                        "PALISADE_SERVER_STORE_PREFIX",
                        "bench-" + UUID.randomUUID(),
                        "PALISADE_SERVER_INIT",
                        "true",
                        "PALISADE_SERVER_ADVERTISE",
                        "lock-server:7600"),
                anyPort(options));
    }

    /** A lock server with the same store and keyset; returns when it listens. Close it first. */
    ServerProcess another(String... more) {
        return start(home, false, what, environment, List.of(more));
    }

    /** An object storage that accepts the sequencers of this lock server; returns when it listens. Close it first. */
    ServerProcess objects(String name, String... options) {
        List<String> all =
                new ArrayList<>(List.of("--data-dir", home.home().resolve(name).toString()));
        all.addAll(List.of(options));
        return start(home, false, OBJECTS, Map.of(), anyPort(all));
    }

    /**
     * A gateway that accepts the sequencers of this lock server; returns when it listens. Close it first.
     *
     * @param config its file, which is in the home of the lock server; it listens on a port of the system's choice
     */
    ServerProcess gateway(String name, String config) throws IOException {
        Path file = Files.writeString(home.home().resolve(name + ".yaml"), config);
        List<String> init = new ArrayList<>(List.of("sh", "-c", "exec \"$@\" 2>&1", "sh"));
        init.addAll(command(GATEWAY));
        init.addAll(List.of("init", file.toString()));
        try (Child child = Child.start(name + " init", init, Map.of())) {
            child.awaitEnd(PATIENCE);
            if (child.awaitExit() != 0) {
                throw new ScenarioFailed("palisade gateway init failed; it printed: " + child.remainingOutput());
            }
        }
        return start(home, false, GATEWAY, Map.of(), List.of("--config", file.toString()));
    }

    private static List<String> anyPort(List<String> options) {
        if (options.contains("--port")) {
            return options;
        }
        List<String> all = new ArrayList<>(List.of("--port", "0"));
        all.addAll(options);
        return all;
    }

    private static ServerProcess start(
            Installation home,
            boolean first,
            List<String> what,
            Map<String, String> environment,
            List<String> options) {
        ServerProcess server = new ServerProcess(home, first, what, environment, options);
        try {
            server.awaitAddress();
            return server;
        } catch (ScenarioFailed e) {
            server.close();
            throw e;
        }
    }

    private Child begin() {
        Map<String, String> variables = new LinkedHashMap<>(environment);
        variables.put("PALISADE_HOME", home.home().toString());
        List<String> command = command(what);
        command.addAll(options);
        return Child.start(what.get(0), command, variables);
    }

    private void awaitAddress() {
        String line = child.await(any -> any.contains(LISTENING), PATIENCE);
        address = line.substring(line.indexOf(LISTENING) + LISTENING.length());
    }

    /** Starts one that has ended, with the options of before; returns when it listens. */
    void restart() {
        child = begin();
        awaitAddress();
    }

    private static List<String> command(List<String> what) {
        List<String> start = List.of("-Dfile.encoding=UTF-8", "-jar", Installation.jar(what.get(0)));
        List<String> command = new ArrayList<>(List.of(jdkTool("java").toString()));
        command.addAll(ClassArchives.options(start));
        command.addAll(start);
        command.addAll(what.subList(1, what.size()));
        return command;
    }

    /** Of the JDK that this process runs on. */
    static Path jdkTool(String name) {
        return Path.of(System.getProperty("java.home"), "bin", name);
    }

    /** What a client connects to. */
    String address() {
        return address;
    }

    /** The folder of its files; gone when the lock server is closed. */
    Path home() {
        return home.home();
    }

    long pid() {
        return child.pid();
    }

    boolean isAlive() {
        return child.isAlive();
    }

    /** SIGKILL; its files stay. */
    void kill() {
        child.kill();
    }

    /** SIGTERM, and waits for the end; its files stay. */
    void terminate() {
        child.terminate();
    }

    /** Kills it; a lock server's data, and that of the object storages beside it, is removed. */
    @Override
    public void close() {
        child.kill();
        if (first) {
            home.close();
        }
    }
}
