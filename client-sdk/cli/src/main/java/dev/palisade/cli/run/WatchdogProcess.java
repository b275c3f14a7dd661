package dev.palisade.cli.run;

import dev.palisade.cli.watchdog.Executable;
import dev.palisade.cli.watchdog.Link;
import dev.palisade.cli.watchdog.Message;
import dev.palisade.cli.watchdog.Watchdog;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.URISyntaxException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;

/**
 * The watchdog as {@code palisade run} sees it: a process that is started early, because it takes as long to start as the lock server
 * to answer, and calls back on a socket in a folder that only this user can enter.
 */
final class WatchdogProcess {
    /** What is heard of the watchdog, each on a thread of this class's. */
    interface Listener {
        /** It is there and waits for the word to start. */
        void ready(Link link);

        void said(Message message);

        /** It is gone, for the reason given; the last that is heard. */
        void gone(String why);
    }

    private final Process process;
    private final Path socket;
    private final boolean leadsSession;

    private WatchdogProcess(Process process, Path socket, boolean leadsSession) {
        this.process = process;
        this.socket = socket;
        this.leadsSession = leadsSession;
    }

    /** @throws IOException in one line */
    static WatchdogProcess start(Listener listener) throws IOException {
        Path folder = Files.createTempDirectory("palisade-");
        Path socket = folder.resolve("s");
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            server.bind(UnixDomainSocketAddress.of(socket), 1);
            Executable setsid = Executable.find("setsid", System.getenv("PATH"));
            Process process =
                    new ProcessBuilder(commandLine(setsid, socket)).inheritIO().start();
            Thread reader = new Thread(() -> serve(server, socket, listener), "watchdog");
            reader.setDaemon(true);
            reader.start();
            var unused = process.onExit().thenAccept(ended -> close(server));
            return new WatchdogProcess(process, socket, setsid.runnable());
        } catch (IOException | RuntimeException e) {
            close(server);
            remove(socket);
            throw e;
        }
    }

    /** SIGKILL. */
    void kill() {
        process.destroyForcibly();
    }

    /** The number of the session that is its own; empty if it is in ours. */
    OptionalLong session() {
        return leadsSession ? OptionalLong.of(process.pid()) : OptionalLong.empty();
    }

    /** To be called before this process ends: it may do so before the watchdog has connected, which then finds no socket. */
    void forget() {
        remove(socket);
    }

    private static List<String> commandLine(Executable setsid, Path socket) throws IOException {
        List<String> line = new ArrayList<>();
        // In a session of its own no signal of the terminal reaches it, nor one sent to our process group.
        if (setsid.runnable()) {
            line.add(String.valueOf(setsid.path()));
        }
        line.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xshare:auto",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Xmx16m",
                "-Xlog:disable",
                "-XX:-MaxFDLimit",
                "-Dfile.encoding=UTF-8",
                "-cp",
                ourJar(),
                Watchdog.class.getName(),
                socket.toString()));
        return line;
    }

    private static String ourJar() throws IOException {
        try {
            return Path.of(Watchdog.class
                            .getProtectionDomain()
                            .getCodeSource()
                            .getLocation()
                            .toURI())
                    .toString();
        } catch (URISyntaxException e) {
            throw new IOException("the jar's own place is not known", e);
        }
    }

    private static void serve(ServerSocketChannel server, Path socket, Listener listener) {
        try (Link link = new Link(server.accept())) {
            close(server);
            remove(socket);
            listener.ready(link);
            while (true) {
                listener.said(link.receive());
            }
        } catch (IOException e) {
            listener.gone(
                    "its watchdog is gone (" + (e.getMessage() == null ? "it never called" : e.getMessage()) + ")");
        } finally {
            remove(socket);
        }
    }

    private static void close(ServerSocketChannel server) {
        try {
            server.close();
        } catch (IOException e) {
            // Nothing hangs on it any more.
            return;
        }
    }

    private static void remove(Path socket) {
        Consumer<Path> delete = path -> {
            try {
                Files.deleteIfExists(path);
            } catch (IOException e) {
                path.toFile().deleteOnExit();
            }
        };
        delete.accept(socket);
        delete.accept(java.util.Objects.requireNonNull(socket.getParent()));
    }
}
