package dev.palisade.server.store.postgresql;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Gives its clients a process number of its own, as poolers do: the server's process behind it may change. */
final class PoolerLikeProxy implements AutoCloseable {
    private static final int KEY_DATA = 'K';

    private final ServerSocket listens = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final int target;

    PoolerLikeProxy(int target) throws IOException {
        this.target = target;
        thread(this::accept);
    }

    int port() {
        return listens.getLocalPort();
    }

    private interface Copies {
        void run() throws IOException;
    }

    private static void thread(Copies copies) {
        Thread thread = new Thread(() -> {
            try {
                copies.run();
            } catch (IOException e) {
                // One side has closed.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() throws IOException {
        while (true) {
            Socket client = listens.accept();
            Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
            sockets.addAll(List.of(client, server));
            thread(() -> client.getInputStream().transferTo(server.getOutputStream()));
            thread(() -> answer(
                    new DataInputStream(server.getInputStream()), new DataOutputStream(client.getOutputStream())));
        }
    }

    private static void answer(DataInputStream from, DataOutputStream to) throws IOException {
        int kind = from.read();
        if (kind == 'N') { // No TLS here.
            to.write(kind);
            kind = from.read();
        }
        for (; kind >= 0; kind = from.read()) {
            int length = from.readInt();
            byte[] body = from.readNBytes(length - Integer.BYTES);
            if (kind == KEY_DATA) {
                body[0] ^= 1;
            }
            to.write(kind);
            to.writeInt(length);
            to.write(body);
            to.flush();
        }
    }

    @Override
    public void close() throws IOException {
        listens.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }
}
