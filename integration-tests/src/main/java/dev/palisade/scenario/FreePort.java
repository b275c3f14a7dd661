package dev.palisade.scenario;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;

/** A port for a process that cannot choose one itself, or whose port is to be known before. */
public final class FreePort {
    private FreePort() {}

    /** One that no process listens on; another one may take it in between. */
    public static int any() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
