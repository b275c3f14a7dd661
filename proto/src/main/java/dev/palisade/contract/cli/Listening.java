package dev.palisade.contract.cli;

import dev.palisade.contract.cli.Commands.CannotStart;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;

/** Where a command listens: refused in the same words by all, and before anything is made on disk. */
public final class Listening {
    private Listening() {}

    /**
     * Returns the address if it can be listened on now.
     *
     * @throws CannotStart in one line: no such host, not this machine's, taken, not allowed
     */
    public static InetSocketAddress on(String host, int port) throws CannotStart {
        return on(host, port, "--host", "--port");
    }

    /** The same, where the options have other names. */
    public static InetSocketAddress on(String host, int port, String hostOption, String portOption) throws CannotStart {
        InetSocketAddress address = new InetSocketAddress(host, port);
        if (address.isUnresolved()) {
            throw new CannotStart(
                    "host '" + host + "' has no address; name an address of this machine with " + hostOption);
        }
        try (ServerSocket probe = new ServerSocket()) {
            probe.setReuseAddress(true);
            probe.bind(address);
            return address;
        } catch (IOException e) {
            throw new CannotStart("cannot listen on " + host + ":" + port + " (" + e.getMessage()
                    + "); choose another with " + hostOption + " and " + portOption);
        }
    }
}
