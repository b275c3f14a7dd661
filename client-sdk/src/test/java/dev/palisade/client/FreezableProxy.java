package dev.palisade.client;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** TCP in between. Frozen connections stay open and carry nothing any more; later ones are not affected. */
final class FreezableProxy implements AutoCloseable {
    private static final class Pair {
        final Socket in;
        final Socket out;
        volatile boolean frozen;

        Pair(Socket in, Socket out) {
            this.in = in;
            this.out = out;
        }
    }

    private final ServerSocket listener;
    private final int targetPort;
    private final List<Pair> pairs = new CopyOnWriteArrayList<>();

    FreezableProxy(int targetPort) {
        this.targetPort = targetPort;
        try {
            listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start(this::listen);
    }

    int port() {
        return listener.getLocalPort();
    }

    void freezeAll() {
        pairs.forEach(pair -> pair.frozen = true);
    }

    @Override
    public void close() throws IOException {
        listener.close();
        for (Pair pair : pairs) {
            pair.in.close();
            pair.out.close();
        }
    }

    private void listen() {
        try {
            while (!listener.isClosed()) {
                Socket in = listener.accept();
                Pair pair = new Pair(in, new Socket(InetAddress.getLoopbackAddress(), targetPort));
                pairs.add(pair);
                start(() -> copy(pair, pair.in, pair.out));
                start(() -> copy(pair, pair.out, pair.in));
            }
        } catch (IOException e) {
            // closed
        }
    }

    private static void copy(Pair pair, Socket from, Socket to) {
        byte[] buffer = new byte[8_192];
        try {
            for (int n = from.getInputStream().read(buffer);
                    n >= 0;
                    n = from.getInputStream().read(buffer)) {
                if (!pair.frozen) {
                    to.getOutputStream().write(buffer, 0, n);
                }
            }
            if (!pair.frozen) {
                to.close();
            }
        } catch (IOException e) {
            // closed
        }
    }

    private static void start(Runnable task) {
        Thread thread = new Thread(task, "proxy");
        thread.setDaemon(true);
        thread.start();
    }
}
