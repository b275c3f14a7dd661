package dev.palisade.scenario;

import io.grpc.ChannelCredentials;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The jars of a checkout and a home of its own for one scenario: ports, data and keys that nothing else uses. */
public final class Installation implements AutoCloseable {
    /** The system property that names the checkout's root folder. */
    public static final String ROOT_PROPERTY = "palisade.root";

    private static final String LISTENING = "listening on ";
    /** A JVM that starts beside many others on two cores may take long. */
    private static final Duration START_PATIENCE = Duration.ofMinutes(2);

    private final Path root;
    private final Path home;
    private final boolean kept;
    private Map<String, String> store = Map.of();
    private @Nullable SecuredHome secured;

    /** A process that listens. */
    public record Service(Child child, String address) {
        /** The port it listens on; start its successor there. */
        public String port() {
            return address.substring(address.lastIndexOf(':') + 1);
        }

        /** Returns when {@code child} says that it is listening. */
        public static Service of(Child child) {
            String line = child.await(any -> any.contains(LISTENING), START_PATIENCE);
            return new Service(child, line.substring(line.indexOf(LISTENING) + LISTENING.length()));
        }
    }

    private Installation(Path root, Path home, boolean kept) {
        this.root = root;
        this.home = home;
        this.kept = kept;
    }

    /** A fresh home under the system's folder for temporary files. */
    public static Installation fresh() {
        try {
            return new Installation(Path.of(root()), Files.createTempDirectory("palisade-"), false);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A home at {@code home}, which is made, and which {@link #close} leaves alone. */
    public static Installation at(Path home) {
        try {
            return new Installation(Path.of(root()), Files.createDirectories(home), true);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * From now on the lock server keeps its locks in that Redis. There is one at a time, so its address for standbys is of no use.
     *
     * @param uri may have a password: it is handed on by the environment, which other users cannot read
     * @param prefix of the keys there
     */
    public Installation onStore(String uri, String prefix) {
        store = Map.of(
                "PALISADE_SERVER_STORE",
                uri,
                "PALISADE_SERVER_STORE_PREFIX",
                prefix,
                "PALISADE_SERVER_INIT",
                "true",
                "PALISADE_SERVER_ADVERTISE",
                "lock-server:7600");
        return this;
    }

    /**
     * From now on lock servers and object storage listen with TLS and want client certificates, sequencers are signed for a
     * guard group, and a policy allows each client {@code stock/*} alone. Actors have their certificate.
     */
    public Installation secured(String... clients) {
        secured = SecuredHome.make(home.resolve("secure"), List.of(clients));
        return this;
    }

    public boolean isSecured() {
        return secured != null;
    }

    /** What that client shows to servers, in this process. */
    public ChannelCredentials credentials(String client) {
        return SecuredHome.credentials(environment(client));
    }

    private Map<String, String> environment(String client) {
        return secured == null ? Map.of() : secured.environment(client);
    }

    /** What lock servers keep their locks in, for people. */
    public String storeName() {
        return store.isEmpty() ? "embedded store" : "locks in Redis";
    }

    private static String root() {
        String root = System.getProperty(ROOT_PROPERTY);
        if (root == null) {
            throw new ScenarioFailed("system property " + ROOT_PROPERTY + " is not set; start this by ./palisade");
        }
        return root;
    }

    public Path home() {
        return home;
    }

    /** {@code palisade server} with {@code options}; returns when it listens. */
    public Service server(String... options) {
        return server(Map.of(), options);
    }

    /** {@link #server(String...)} with {@code environment} added to ours. */
    public Service server(Map<String, String> environment, String... options) {
        List<String> java = Child.java("-jar", jar("lock-server/target/palisade-server.jar"), "server");
        Map<String, String> all = new HashMap<>(store);
        all.putAll(environment);
        return service(
                "server", java, all, line -> {}, with(secured == null ? List.of() : secured.serverOptions(), options));
    }

    /** {@code palisade objects} with {@code options}; returns when it listens. */
    public Service objects(String... options) {
        List<String> java = Child.java("-jar", jar("resource-guard/objects/target/palisade-objects.jar"));
        return service("objects", java, with(secured == null ? List.of() : secured.objectsOptions(), options));
    }

    private static String[] with(List<String> first, String... options) {
        List<String> all = new ArrayList<>(first);
        all.addAll(List.of(options));
        return all.toArray(new String[0]);
    }

    /**
     * {@code palisade gateway} on a free port, with a file that guards {@code /stock/ID} of that service; returns when it admits
     * requests. It listens before its lock server has replied.
     *
     * @param guard false: it only observes, and admits all requests from the start
     */
    public Service gateway(Service server, String upstream, boolean guard) {
        Service gateway = gateway(gatewayFile(server.address(), upstream, guard));
        if (guard) {
            gateway.child().awaitError("event=registered ", START_PATIENCE);
        }
        return gateway;
    }

    /** {@code palisade gateway} with that config file, after its {@code init}; returns when it listens. */
    public Service gateway(Path file) {
        String jar = jar(ClassArchives.GATEWAY);
        Child init = Child.start("gateway init", Child.java("-jar", jar, "init", file.toString()), Map.of());
        if (init.awaitExit() != 0) {
            throw new ScenarioFailed("palisade gateway init failed; it printed: " + init.remainingOutput());
        }
        List<String> command = Child.java("-jar", jar, "--config", file.toString());
        return Service.of(Child.start("gateway", command, Map.of("PALISADE_HOME", home.toString())));
    }

    /** Writes the config file of a gateway on a free port. */
    Path gatewayFile(String server, String upstream, boolean guard) {
        try {
            return Files.writeString(
                    home.resolve("gateway.yaml"),
                    "listen: 127.0.0.1:0\nprotects: stock\nmarks: marks\nkeyset: keys/sequencers.json\nobserve-only: "
                            + !guard
                            + "\nlock-servers: " + server + "\nupstream:\n  addresses: " + upstream
                            + "\nroutes:\n  - path: /stock/{id}\n    lock: stock/{id}\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * A service whose {@code main} is on this process's own class path; returns when it says that it is listening.
     *
     * @param java options of its JVM
     * @param listener is told every line that it prints
     */
    public Service service(
            String name, Class<?> main, List<String> java, Consumer<String> listener, String... options) {
        List<String> command = Child.java("-Dlogback.configurationFile=logback-demo.xml");
        command.addAll(java);
        command.addAll(List.of("-cp", classPath(), main.getName()));
        return service(name, command, Map.of(), listener, options);
    }

    /** This process's own class path, after the jar that it was packed into: a JVM can use the archive of the first one only. */
    public static String classPath() {
        return jar(ClassArchives.DEMO) + File.pathSeparator + System.getProperty("java.class.path");
    }

    /** A client process: {@link Actor}. */
    public Child actor(String name, Service server, Service objects, String... options) {
        return client(Actor.class, name, server, objects, line -> {}, options);
    }

    /** A client process: {@link Worker}, which keeps its history in {@link #histories()}. */
    public Child worker(String name, Service server, Service objects, Consumer<String> listener, String... options) {
        return withHistory(Worker.class, name, server, objects, listener, options);
    }

    /** A client process: {@link Customers}, which keep their history in {@link #histories()}. */
    public Child customers(String name, Service server, Service objects, Consumer<String> listener, String... options) {
        return withHistory(Customers.class, name, server, objects, listener, options);
    }

    /** A client process of a class that keeps its history in {@link #histories()}, with a small heap; returns at once. */
    public Child busyClient(String name, Class<?> main, String server, String objects, String... options) {
        List<String> command = Child.java(
                "-Xmx48m",
                "-Xss256k",
                "-Dlogback.configurationFile=logback-demo.xml",
                "-cp",
                jar(ClassArchives.DEMO),
                main.getName());
        command.addAll(List.of(
                name, server, objects, histories().resolve(name + ".jsonl").toString()));
        command.addAll(List.of(options));
        return Child.start(name, command, Map.of());
    }

    private Child withHistory(
            Class<?> main, String name, Service server, Service objects, Consumer<String> listener, String... options) {
        List<String> arguments = new ArrayList<>();
        arguments.add(histories().resolve(name + ".jsonl").toString());
        arguments.addAll(List.of(options));
        return client(main, name, server, objects, listener, arguments.toArray(new String[0]));
    }

    private Child client(
            Class<?> main, String name, Service server, Service objects, Consumer<String> listener, String... options) {
        List<String> command = Child.java(
                "-Dlogback.configurationFile=logback-demo.xml", "-cp", jar(ClassArchives.DEMO), main.getName());
        command.addAll(List.of(name, server.address(), objects.address()));
        command.addAll(List.of(options));
        Child client = Child.start(name, command, environment(name), listener);
        client.await(line -> line.equals("ready"));
        return client;
    }

    /** What {@code palisade objects log} tells of the storage, one JSON object per applied call; the storage is stopped. */
    public List<String> appliedLog() {
        List<String> command =
                Child.java("-jar", jar("resource-guard/objects/target/palisade-objects.jar"), "log", "--json");
        Child log = Child.start("objects log", command, Map.of("PALISADE_HOME", home.toString()));
        List<String> rows = log.remainingOutput();
        int code = log.awaitExit();
        if (code != 0) {
            throw new ScenarioFailed("palisade objects log ended with code " + code + "; it printed: " + rows);
        }
        return rows;
    }

    /** Where client processes leave their histories. */
    public Path histories() {
        try {
            return Files.createDirectories(home.resolve("histories"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The checkout's file of that path. */
    public Path file(String path) {
        return root.resolve(path);
    }

    private Service service(String name, List<String> java, String... options) {
        return service(name, java, Map.of(), line -> {}, options);
    }

    private Service service(
            String name,
            List<String> java,
            Map<String, String> environment,
            Consumer<String> listener,
            String... options) {
        List<String> command = new ArrayList<>(java);
        if (!List.of(options).contains("--port")) {
            command.addAll(List.of("--port", "0"));
        }
        command.addAll(List.of(options));
        Map<String, String> variables = new HashMap<>(environment);
        variables.put("PALISADE_HOME", home.toString());
        return Service.of(Child.start(name, command, variables, listener));
    }

    /**
     * The jar that the checkout has at {@code path}, and an installed copy in {@code lib}.
     *
     * @throws ScenarioFailed there is none
     */
    public static String jar(String path) {
        Path built = Path.of(root(), path);
        Path installed = Path.of(root(), "lib", built.getFileName().toString());
        if (Files.exists(built)) {
            return built.toString();
        }
        if (Files.exists(installed)) {
            return installed.toString();
        }
        throw new ScenarioFailed(built + " is not built; run: mvn package");
    }

    /** How a user calls the command that runs this process: {@code ./palisade} in a checkout, {@code palisade} where it is installed. */
    public static String launcher() {
        return launcher(Path.of(root()));
    }

    static String launcher(Path root) {
        return Files.exists(root.resolve("pom.xml")) ? "./palisade" : "palisade";
    }

    /** Removes a fresh home. */
    @Override
    public void close() {
        if (kept) {
            return;
        }
        try (Stream<Path> files = Files.walk(home)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
