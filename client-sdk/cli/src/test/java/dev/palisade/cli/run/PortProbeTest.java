package dev.palisade.cli.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.UnknownHostException;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class PortProbeTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();

    private static int portWithoutServer() throws IOException {
        try (ServerSocket closed = new ServerSocket(0, 1, LOOPBACK)) {
            return closed.getLocalPort();
        }
    }

    @Test
    void everyAddressOfANameIsAsked() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 1, LOOPBACK)) {
            // Nothing listens at the first address, as where a server listens by IPv6 alone.
            PortProbe.Resolver two =
                    host -> new InetAddress[] {InetAddress.getByAddress(new byte[] {127, 0, 0, 9}), LOOPBACK};
            assertThat(PortProbe.refusedByAll("locks:" + server.getLocalPort(), TIMEOUT, two))
                    .isFalse();
        }
    }

    @Test
    void serverThatIsNotThereRefuses() throws IOException {
        assertThat(PortProbe.refusedByAll("127.0.0.1:" + portWithoutServer(), TIMEOUT))
                .isTrue();
    }

    @Test
    void unknownNameAndMalformedAddressAreNoRefusal() {
        assertThat(PortProbe.refusedByAll("locks:1", TIMEOUT, host -> {
                    throw new UnknownHostException(host);
                }))
                .isFalse();
        assertThat(PortProbe.refusedByAll("locks", TIMEOUT)).isFalse();
        assertThat(PortProbe.refusedByAll("127.0.0.1:many", TIMEOUT)).isFalse();
    }
}
