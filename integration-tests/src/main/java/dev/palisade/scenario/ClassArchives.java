package dev.palisade.scenario;

import dev.palisade.scenario.Installation.Service;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Class-data archives beside the jars that processes are started from: with one a JVM starts in about two thirds of the processor
 * time. {@code main} makes them all, from one run of each process; the build runs it. The JVM ignores an archive of another
 * JDK, or of a jar that was built again.
 */
public final class ClassArchives {
    private static final String SERVER = "lock-server/target/palisade-server.jar";
    private static final String OBJECTS = "resource-guard/objects/target/palisade-objects.jar";
    static final String GATEWAY = "resource-guard/gateway/target/palisade-gateway.jar";
    private static final String COMMANDS = "client-sdk/cli/target/palisade.jar";
    static final String DEMO = "integration-tests/target/palisade-demo.jar";

    private ClassArchives() {}

    /** Options for a JVM with these arguments: those for the archive of the first jar on its class path, if there is one. */
    public static List<String> options(List<String> arguments) {
        for (String option : List.of("-jar", "-cp")) {
            int at = arguments.indexOf(option);
            if (at >= 0 && at + 1 < arguments.size()) {
                Path archive = archive(arguments.get(at + 1).split(File.pathSeparator, 2)[0]);
                if (Files.exists(archive)) {
                    return use(archive);
                }
            }
        }
        return List.of();
    }

    private static List<String> use(Path archive) {
        // Without the log, because an archive that does not fit is no news to anybody.
        return List.of("-XX:SharedArchiveFile=" + archive, "-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr");
    }

    private static Path archive(String jar) {
        return Path.of(jar.replaceFirst("\\.jar$", "") + ".jsa");
    }

    /** Makes those that are missing or older than their jar. */
    public static void main(String[] args) throws IOException {
        List<String> jars = List.of(
                Installation.jar(SERVER),
                Installation.jar(OBJECTS),
                Installation.jar(GATEWAY),
                Installation.jar(COMMANDS),
                Installation.jar(DEMO));
        for (String jar : jars) {
            if (!Files.exists(archive(jar))
                    || Files.getLastModifiedTime(archive(jar)).compareTo(Files.getLastModifiedTime(Path.of(jar))) < 0) {
                make();
                return;
            }
        }
    }

    private static void make() throws IOException {
        try (Installation home = Installation.fresh();
                Recorded server =
                        new Recorded(home, Installation.jar(SERVER), "server", "--port", "0", "--admin-port", "0");
                Recorded objects = new Recorded(home, Installation.jar(OBJECTS), "--port", "0")) {
            String locks = server.address();
            String store = objects.address();
            String file = home.gatewayFile(locks, store, true).toString();
            try (Recorded gateway = new Recorded(home, Installation.jar(GATEWAY), "--config", file)) {
                gateway.address();
            }
            try (Recorded client = new Recorded(home, Installation.jar(DEMO), Actor.class, "warm-up", locks, store)) {
                client.child.await(line -> line.equals("ready"));
                client.child.ask("acquire warm-up 5000 0");
                client.child.ask("write warm-up text");
                client.child.ask("read warm-up");
                client.child.ask("release");
            }
            String jar = Installation.jar(COMMANDS);
            List<String> training = List.of("-cp", jar, "dev.palisade.cli.TrainingRun");
            try (Recorded commands =
                    new Recorded(home, jar, training, "run", "warm-up", "--server", locks, "--", "true")) {
                commands.child.awaitExit();
            }
        }
    }

    /** The beginning of a command that has none of these variables' settings: the user's Redis and servers are not for a build. */
    static List<String> withoutSettings(Map<String, String> environment) {
        List<String> command = new ArrayList<>(List.of("env"));
        environment.keySet().stream()
                .filter(name -> name.startsWith("PALISADE_") && !name.equals("PALISADE_HOME"))
                .sorted()
                .forEach(name -> command.addAll(List.of("-u", name)));
        return command;
    }

    /** A process whose classes are written into the archive of its jar when it is closed. */
    private static final class Recorded implements AutoCloseable {
        private final Child child;
        private final Path made;
        private final Path archive;

        Recorded(Installation home, String jar, String... arguments) throws IOException {
            this(home, jar, List.of("-jar", jar), arguments);
        }

        Recorded(Installation home, String jar, Class<?> main, String... arguments) throws IOException {
            this(home, jar, List.of("-cp", jar, main.getName()), arguments);
        }

        private Recorded(Installation home, String jar, List<String> what, String... arguments) throws IOException {
            archive = archive(jar);
            made = Files.createTempFile(archive.toAbsolutePath().getParent(), "classes", ".jsa");
            Files.delete(made);
            List<String> command = new ArrayList<>(withoutSettings(System.getenv()));
            command.addAll(Child.java("-XX:ArchiveClassesAtExit=" + made, "-Xlog:disable"));
            command.addAll(what);
            command.addAll(List.of(arguments));
            child = Child.start(
                    "warm-up", command, Map.of("PALISADE_HOME", home.home().toString()));
        }

        String address() {
            return Service.of(child).address();
        }

        /** Moved when it is whole: other processes may be starting from the old one. */
        @Override
        public void close() throws IOException {
            child.terminate();
            if (Files.exists(made)) {
                Files.move(made, archive, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            }
        }
    }
}
