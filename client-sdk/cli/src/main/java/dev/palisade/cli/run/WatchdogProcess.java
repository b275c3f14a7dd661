package dev.palisade.cli.run;

import dev.palisade.cli.watchdog.Executable;
import dev.palisade.cli.watchdog.Message;
import dev.palisade.cli.watchdog.MessageChannel;
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
 * Handle of the watchdog process in {@code palisade run}. The process starts while the acquire is pending, and connects
 * to a socket in a directory that only this user can enter.
 */
final class WatchdogProcess {
    /** Callbacks on the reader thread of this class. */
    interface Listener {
        /** The watchdog is connected and waits for the start message. */
        void onReady(MessageChannel channel);

        void onMessage(Message message);

        /** The watchdog has ended. This is the last callback. */
        void onExit(String why);
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

    /** The id of its own session; empty if it shares ours. */
    OptionalLong session() {
        return leadsSession ? OptionalLong.of(process.pid()) : OptionalLong.empty();
    }

    /** Deletes the socket file before this process ends, so that a watchdog that connects later fails. */
    void deleteSocket() {
        remove(socket);
    }

    private static List<String> commandLine(Executable setsid, Path socket) throws IOException {
        List<String> line = new ArrayList<>();
        // In its own session it gets no signal of the terminal, nor one for our process group.
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
        try (MessageChannel channel = new MessageChannel(server.accept())) {
            close(server);
            remove(socket);
            listener.onReady(channel);
            while (true) {
                listener.onMessage(channel.receive());
            }
        } catch (IOException e) {
            listener.onExit(
                    "its watchdog is gone (" + (e.getMessage() == null ? "it never called" : e.getMessage()) + ")");
        } finally {
            remove(socket);
        }
    }

    private static void close(ServerSocketChannel server) {
        try {
            server.close();
        } catch (IOException e) {
            // The socket is no longer needed.
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
