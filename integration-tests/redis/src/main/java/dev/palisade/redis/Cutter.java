package dev.palisade.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** A proxy between a client and a Redis that counts what is written, and cuts connections at chosen words. Thread-safe. */
public final class Cutter implements AutoCloseable {
    /** Cut the connection when a client writes this: before Redis sees it, or after Redis answered it. */
    public volatile String cutBefore = "\0";

    public volatile String cutAfter = "\0";
    /** What clients wrote, one for each read of a socket: small writes that are not flushed together come apart. */
    public final List<String> writes = new CopyOnWriteArrayList<>();

    private final ServerSocket listening;
    private final int target;
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();

    /** @param target the port on the loopback address where Redis listens */
    public Cutter(int target) throws IOException {
        this.target = target;
        listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        run(this::accept);
    }

    /** What a client connects to. */
    public String uri() {
        return "redis://127.0.0.1:" + listening.getLocalPort();
    }

    /** Cuts every connection. */
    public void cut() {
        open.forEach(Cutter::close);
    }

    /** How often clients wrote this. */
    public long written(String word) {
        return writes.stream()
                .mapToLong(write -> write.split(word, -1).length - 1)
                .sum();
    }

    @Override
    public void close() {
        try {
            listening.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        cut();
    }

    private void accept() {
        while (!listening.isClosed()) {
            try {
                Socket client = listening.accept();
                open.add(client);
                Socket server = connect(client);
                if (server == null) {
                    continue;
                }
                server.setTcpNoDelay(true);
                client.setTcpNoDelay(true);
                open.add(server);
                boolean[] cutting = new boolean[1];
                run(() -> requests(client, server, cutting));
                run(() -> replies(client, server, cutting));
            } catch (IOException closed) {
                return;
            }
        }
    }

    /** Null if nobody listens there; the client hears of it. */
    private @Nullable Socket connect(Socket client) {
        try {
            return new Socket(InetAddress.getLoopbackAddress(), target);
        } catch (IOException e) {
            close(client);
            return null;
        }
    }

    private void requests(Socket client, Socket server, boolean[] cutting) {
        byte[] buffer = new byte[1 << 20];
        try (client;
                server) {
            InputStream in = client.getInputStream();
            OutputStream out = server.getOutputStream();
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                String text = new String(buffer, 0, n, StandardCharsets.ISO_8859_1);
                writes.add(text);
                if (text.contains(cutBefore)) {
                    return;
                }
                synchronized (cutting) {
                    cutting[0] |= text.contains(cutAfter);
                }
                out.write(buffer, 0, n);
            }
        } catch (IOException broken) {
            // Both ends are closed.
        }
    }

    private static void replies(Socket client, Socket server, boolean[] cutting) {
        byte[] buffer = new byte[1 << 20];
        try (client;
                server) {
            InputStream in = server.getInputStream();
            OutputStream out = client.getOutputStream();
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                synchronized (cutting) {
                    if (cutting[0]) {
                        return;
                    }
                }
                out.write(buffer, 0, n);
            }
        } catch (IOException broken) {
            // Both ends are closed.
        }
    }

    private static void run(Runnable task) {
        Thread thread = new Thread(task, "cutter");
        thread.setDaemon(true);
        thread.start();
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // Closed enough.
        }
    }
}
