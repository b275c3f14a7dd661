package dev.palisade.incidents;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Stub of a Redis Sentinel for one application, because the run promotes nodes itself. It supports only {@code SENTINEL
 * MASTER} and can be unreachable. Thread-safe.
 */
final class SentinelStub implements PrimarySource {
    private final ServerSocket listening;
    private final Queue<Socket> connections = new ConcurrentLinkedQueue<>();
    private String address;
    private int configEpoch = 1;
    private boolean silent;

    /** @param address HOST:PORT of the primary */
    SentinelStub(String address) {
        this.address = address;
        try {
            listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start(this::accept);
    }

    static SentinelStub of(Topology<?> topology, Addresses addresses) {
        return new SentinelStub(addresses.of(topology.primary()));
    }

    @Override
    public String uri() {
        return "redis-sentinel://127.0.0.1:" + listening.getLocalPort() + "#incidents";
    }

    /** Also makes the stub reachable again. */
    @Override
    public synchronized void announce(String primary) {
        if (!primary.equals(address)) {
            address = primary;
            configEpoch++;
        }
        silent = false;
    }

    /** Makes the stub unreachable: cuts all connections and does not reply. */
    @Override
    public synchronized void stopAnnouncing() {
        silent = true;
        for (Socket next = connections.poll(); next != null; next = connections.poll()) {
            close(next);
        }
    }

    @Override
    public boolean isBinding() {
        return true;
    }

    private void accept() {
        while (!listening.isClosed()) {
            try {
                Socket socket = listening.accept();
                synchronized (this) {
                    if (silent) {
                        close(socket);
                    } else {
                        connections.add(socket);
                        start(() -> serve(socket));
                    }
                }
            } catch (IOException e) {
                return; // Closed.
            }
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            BufferedReader in =
                    new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            OutputStream out = socket.getOutputStream();
            for (String head = in.readLine(); head != null; head = in.readLine()) {
                List<String> words = new ArrayList<>();
                for (int i = Integer.parseInt(head.substring(1)); i > 0; i--) {
                    in.readLine(); // The length is not needed: no argument has a line break.
                    words.add(String.valueOf(in.readLine()));
                }
                out.write(reply(words).getBytes(StandardCharsets.UTF_8));
                out.flush();
            }
        } catch (IOException e) {
            // The connection has ended.
        }
    }

    private synchronized String reply(List<String> words) {
        if (words.size() < 2 || !(words.get(0) + words.get(1)).equalsIgnoreCase("SENTINELMASTER")) {
            return words.get(0).equalsIgnoreCase("PING")
                    ? "+PONG\r\n"
                    : "-ERR unknown command '" + words.get(0) + "'\r\n";
        }
        String[] parts = address.split(":", 2);
        StringBuilder reply = new StringBuilder("*6\r\n");
        for (String part : List.of("ip", parts[0], "port", parts[1], "config-epoch", Integer.toString(configEpoch))) {
            reply.append('$').append(part.length()).append("\r\n").append(part).append("\r\n");
        }
        return reply.toString();
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work, "announcer");
        thread.setDaemon(true);
        thread.start();
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        stopAnnouncing();
        try {
            listening.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
