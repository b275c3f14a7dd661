package dev.palisade.redis;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/** A port for a process that cannot choose one itself, or whose port is to be known before. */
public final class FreePort {
    /**
     * Below the ports that systems give to outgoing connections, so that none of those sits on the port when its process is started
     * again; and the bus of a Redis cluster, 10000 above, is so too.
     */
    private static final int FIRST = 12_000;

    private static final int LAST = 22_000;

    private FreePort() {}

    /** One that no process listens on; another one may take it in between. */
    public static int any() {
        for (int tries = 0; tries < 1000; tries++) {
            int port = ThreadLocalRandom.current().nextInt(FIRST, LAST);
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return socket.getLocalPort();
            } catch (IOException taken) {
                // The next one, then.
            }
        }
        throw new IllegalStateException("no port between " + FIRST + " and " + LAST + " is free");
    }
}
