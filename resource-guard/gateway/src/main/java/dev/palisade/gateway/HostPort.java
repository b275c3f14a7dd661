package dev.palisade.gateway;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Optional;

/**
 * Address as people write it.
 *
 * @param host a name or an address, of IPv6 without its brackets
 */
record HostPort(String host, int port) {
    private static final int PORT_MAX = 65_535;

    /** {@code text} if it is {@code host:port}, with a port of {@code portMin} to 65,535. */
    static Optional<HostPort> parse(String text, int portMin) {
        int colon = text.lastIndexOf(':');
        if (colon < 1 || !text.substring(colon + 1).matches("[0-9]{1,5}")) {
            return Optional.empty();
        }
        String host = text.substring(0, colon);
        boolean bracketed = host.startsWith("[") && host.endsWith("]");
        int port = Integer.parseInt(text.substring(colon + 1));
        if (port < portMin || port > PORT_MAX || (!bracketed && !host.matches("[A-Za-z0-9._-]+"))) {
            return Optional.empty();
        }
        return Optional.of(new HostPort(bracketed ? host.substring(1, host.length() - 1) : host, port));
    }

    /** Whether it is on this machine alone. Resolves the name. */
    boolean isLoopback() {
        InetAddress address = new InetSocketAddress(host, port).getAddress();
        return address != null && address.isLoopbackAddress();
    }

    /** Whether a connection to it may be one to a server of this process that listens there. Resolves the name then. */
    boolean isServedBy(InetSocketAddress listen) {
        if (port != listen.getPort() || listen.isUnresolved()) {
            return false;
        }
        InetAddress own = listen.getAddress();
        InetAddress address = new InetSocketAddress(host, port).getAddress();
        if (address == null || address.equals(own)) {
            return address != null;
        }
        return address.isAnyLocalAddress()
                ? own.isAnyLocalAddress() || own.isLoopbackAddress()
                : own.isAnyLocalAddress() && isOfThisMachine(address);
    }

    private static boolean isOfThisMachine(InetAddress address) {
        try {
            return address.isLoopbackAddress() || NetworkInterface.getByInetAddress(address) != null;
        } catch (SocketException e) {
            return false;
        }
    }
}
