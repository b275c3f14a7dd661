package dev.palisade.scenario;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/** A port for a process that cannot choose one itself, or whose port is to be known before. */
public final class FreePort {
    /** Below those that the system gives to clients: the port of a server that starts again is not one of theirs by then. */
    private static final int FROM = 23_000;

    private static final int TO = 32_000;
    private static final int TRIES = 100;

    private FreePort() {}

    /** One that no process listens on; another one may take it in between. */
    public static int any() {
        for (int i = 0; i < TRIES; i++) {
            int port = ThreadLocalRandom.current().nextInt(FROM, TO);
            if (isFree(port)) {
                return port;
            }
        }
        throw new ScenarioFailed("no port from " + FROM + " to " + TO + " is free");
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return socket.isBound();
        } catch (IOException taken) {
            return false;
        }
    }
}
