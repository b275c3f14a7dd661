package dev.palisade.bench;

import dev.palisade.redis.FreePort;
import dev.palisade.scenario.ScenarioFailed;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** The machine's nginx as a plain proxy to one service, with connections kept open on both sides and no log of requests. */
final class Nginx implements AutoCloseable {
    private static final long PATIENCE_SECONDS = 60;

    /** Files of a request's body would be in the system's folders otherwise, where not every user may write. */
    private static final String CONFIG = """
            daemon off;
            worker_processes auto;
            pid nginx.pid;
            error_log stderr error;
            events { worker_connections 2048; }
            http {
              access_log off;
              client_body_temp_path body;
              proxy_temp_path proxy;
              fastcgi_temp_path fastcgi;
              uwsgi_temp_path uwsgi;
              scgi_temp_path scgi;
              keepalive_requests 1000000000;
              upstream service {
                server SERVICE;
                keepalive 128;
                keepalive_requests 1000000000;
              }
              server {
                listen 127.0.0.1:PORT;
                location / {
                  proxy_pass http://service;
                  proxy_http_version 1.1;
                  proxy_set_header Connection "";
                  proxy_set_header Host $host;
                  proxy_set_header X-Forwarded-For $remote_addr;
                }
              }
            }
            """;

    private final Process process;
    private final int port;
    private final Thread atExit;

    private Nginx(Process process, int port) {
        this.process = process;
        this.port = port;
        // Its workers outlive a master that is killed.
        atExit = new Thread(process::destroy);
        Runtime.getRuntime().addShutdownHook(atExit);
    }

    /** The command; empty where there is none. Debian has it in a folder that is not on the PATH of every user. */
    static Optional<Path> command() {
        String path = System.getenv().getOrDefault("PATH", "") + File.pathSeparator + "/usr/sbin";
        return Stream.of(path.split(File.pathSeparator))
                .filter(folder -> !folder.isEmpty())
                .map(folder -> Path.of(folder, "nginx"))
                .filter(Files::isExecutable)
                .findFirst();
    }

    /**
     * Starts it on a free port; returns when it takes connections.
     *
     * @param directory of its own, for its files
     * @param service {@code host:port}
     * @throws ScenarioFailed when it does not start
     */
    static Nginx start(Path command, Path directory, String service) throws IOException, InterruptedException {
        int port = FreePort.any();
        Path config = Files.createDirectories(directory).resolve("nginx.conf");
        Files.writeString(config, CONFIG.replace("SERVICE", service).replace("PORT", Integer.toString(port)));
        Path log = directory.resolve("log");
        Process process = new ProcessBuilder(List.of(
                        command.toString(), "-p", directory.toString(), "-e", "stderr", "-c", config.toString()))
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        Nginx nginx = new Nginx(process, port);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (!nginx.takesConnections()) {
            if (process.waitFor(20, TimeUnit.MILLISECONDS) || System.nanoTime() - end > 0) {
                nginx.close();
                throw new ScenarioFailed("nginx does not start; it printed: "
                        + Files.readString(log).strip());
            }
        }
        return nginx;
    }

    private boolean takesConnections() {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    String address() {
        return "127.0.0.1:" + port;
    }

    long pid() {
        return process.pid();
    }

    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                throw new UncheckedIOException(new IOException("nginx does not end"));
            }
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
