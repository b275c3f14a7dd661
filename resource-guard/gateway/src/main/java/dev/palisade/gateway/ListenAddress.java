package dev.palisade.gateway;

import java.net.InetSocketAddress;
import java.util.Optional;

/** Reader of an address of this machine, with a port that may be 0. */
final class ListenAddress {
    private ListenAddress() {}

    /**
     * The address that {@code key} names.
     *
     * @param otherwise where there is no such key; also the example in messages
     * @param mayBeRemote whether other machines may reach it
     */
    static InetSocketAddress of(
            Mistakes mistakes, YamlSection file, String key, String otherwise, boolean mayBeRemote) {
        String text = file.text(key, otherwise);
        Optional<HostPort> parsed = HostPort.parse(text, 0);
        if (parsed.isEmpty()) {
            mistakes.add(
                    file.at(key),
                    key + " is '" + text + "'; write host:port with a port of 0 to 65535, such as " + otherwise);
            return new InetSocketAddress(0);
        }
        InetSocketAddress address =
                new InetSocketAddress(parsed.get().host(), parsed.get().port());
        if (address.isUnresolved()) {
            mistakes.add(file.at(key), "host of " + key + " '" + text + "' has no address; name one of this machine");
        } else if (!mayBeRemote && !address.getAddress().isLoopbackAddress()) {
            mistakes.add(
                    file.at(key),
                    key + " " + text + " would serve other machines and not verify them; use a loopback address,"
                            + " verify clients with client-ca below tls, or say insecure: true");
        }
        return address;
    }
}
