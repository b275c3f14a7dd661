package dev.palisade.cli.run;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.time.Duration;

/** TCP probe of server addresses: whether certainly none of them has a listening server. */
final class PortProbe {
    private PortProbe() {}

    /** Addresses of a host name. */
    interface Resolver {
        InetAddress[] addressesOf(String host) throws UnknownHostException;
    }

    /** @param addresses {@code host:port}, several separated by commas */
    static boolean refusedByAll(String addresses, Duration timeout) {
        return refusedByAll(addresses, timeout, InetAddress::getAllByName);
    }

    static boolean refusedByAll(String addresses, Duration timeout, Resolver resolver) {
        for (String part : addresses.split(",", -1)) {
            String address = part.strip();
            int colon = address.lastIndexOf(':');
            try {
                int port = Integer.parseInt(address.substring(colon + 1));
                String host = address.substring(0, colon).replaceAll("[\\[\\]]", "");
                for (InetAddress each : resolver.addressesOf(host)) {
                    if (!isRefused(new InetSocketAddress(each, port), timeout)) {
                        return false;
                    }
                }
            } catch (IOException | IllegalArgumentException | IndexOutOfBoundsException e) {
                return false;
            }
        }
        return true;
    }

    private static boolean isRefused(InetSocketAddress target, Duration timeout) {
        try (Socket socket = new Socket()) {
            socket.connect(target, (int) timeout.toMillis());
            return false;
        } catch (ConnectException e) {
            return String.valueOf(e.getMessage()).contains("refused");
        } catch (IOException e) {
            return false;
        }
    }
}
