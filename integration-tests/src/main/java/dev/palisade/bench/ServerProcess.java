package dev.palisade.bench;

import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.ScenarioFailed;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * {@code palisade server} or {@code palisade objects} in a JVM of its own, as a user starts it: with the JVM's defaults, unlike the
 * servers of the tests, which are to start soon and stay small.
 */
final class ServerProcess implements AutoCloseable {
    private static final String LISTENING = "listening on ";
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final List<String> LOCKS = List.of("lock-server/target/palisade-server.jar", "server");
    private static final List<String> OBJECTS = List.of("resource-guard/target/palisade-objects.jar");

    private final Installation home;
    private final boolean first;
    private final Child child;
    private final String address;

    /** @param first whether the home is this one's, and goes with it */
    private ServerProcess(Installation home, boolean first, Child child, String address) {
        this.home = home;
        this.first = first;
        this.child = child;
        this.address = address;
    }

    /** A lock server with its own data directory; returns when it listens. */
    static ServerProcess locks(List<String> options) {
        return start(Installation.fresh(), true, LOCKS, Map.of(), options);
    }

    /** A lock server with its locks in {@code redis} under keys of its own; returns when it listens. */
    static ServerProcess locksIn(BenchRedis redis, List<String> options) {
        return start(
                Installation.fresh(),
                true,
                LOCKS,
                Map.of(
                        "PALISADE_SERVER_STORE", redis.uri(),
                        "PALISADE_SERVER_STORE_PREFIX", redis.newPrefix(),
                        "PALISADE_SERVER_INIT", "true"),
                options);
    }

    /** An object storage that accepts the sequencers of this lock server; returns when it listens. Close it first. */
    ServerProcess objects(String name, String... options) {
        List<String> all =
                new ArrayList<>(List.of("--data-dir", home.home().resolve(name).toString()));
        all.addAll(List.of(options));
        return start(home, false, OBJECTS, Map.of(), all);
    }

    private static ServerProcess start(
            Installation home,
            boolean first,
            List<String> what,
            Map<String, String> environment,
            List<String> options) {
        Map<String, String> variables = new LinkedHashMap<>(environment);
        variables.put("PALISADE_HOME", home.home().toString());
        List<String> command = command(what);
        command.addAll(List.of("--port", "0"));
        command.addAll(options);
        Child child = Child.start(what.get(0), command, variables);
        try {
            String line = child.await(any -> any.contains(LISTENING), PATIENCE);
            return new ServerProcess(home, first, child, line.substring(line.indexOf(LISTENING) + LISTENING.length()));
        } catch (ScenarioFailed e) {
            child.kill();
            if (first) {
                home.close();
            }
            throw e;
        }
    }

    private static List<String> command(List<String> what) {
        List<String> command = new ArrayList<>(
                List.of(jdkTool("java").toString(), "-Dfile.encoding=UTF-8", "-jar", Installation.jar(what.get(0))));
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

    long pid() {
        return child.pid();
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
