package dev.palisade.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.faults.Link.Deaths;
import dev.palisade.faults.Link.Way;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a link does to the bytes and to the ends of connections. */
class LinkTest {
    private static final int SOON_MILLIS = 300;
    private static final int PATIENCE_MILLIS = 20_000;

    private final ServerSocket server;

    LinkTest() throws IOException {
        server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    }

    @AfterEach
    void stop() throws IOException {
        server.close();
    }

    private Link link(Deaths deaths) {
        return new Link("127.0.0.1:" + server.getLocalPort(), deaths);
    }

    private Socket connect(Link link) throws IOException {
        Socket client = new Socket(
                InetAddress.getLoopbackAddress(),
                Integer.parseInt(link.address().substring(link.address().indexOf(':') + 1)));
        client.setSoTimeout(PATIENCE_MILLIS);
        return client;
    }

    private Socket accept() throws IOException {
        Socket socket = server.accept();
        socket.setSoTimeout(PATIENCE_MILLIS);
        return socket;
    }

    private static void say(Socket from, int what) throws IOException {
        from.getOutputStream().write(what);
        from.getOutputStream().flush();
    }

    private static int hear(Socket at) throws IOException {
        return at.getInputStream().read();
    }

    private static void assertSilent(Socket at) throws IOException {
        at.setSoTimeout(SOON_MILLIS);
        assertThatThrownBy(() -> hear(at)).isInstanceOf(SocketTimeoutException.class);
        at.setSoTimeout(PATIENCE_MILLIS);
    }

    @Test
    void whatIsFrozenOneWayPassesTheOtherAndArrivesInOrderWhenHealed() throws Exception {
        try (Link link = link(Deaths.TOLD);
                Socket client = connect(link);
                Socket served = accept()) {
            link.freeze(Way.ONWARD);
            say(client, 1);
            say(client, 2);
            say(served, 9);
            assertThat(hear(client)).isEqualTo(9);
            assertSilent(served);
            Awaitility.await().until(() -> link.heldBytes() == 2);

            link.heal();

            assertThat(hear(served)).isEqualTo(1);
            assertThat(hear(served)).isEqualTo(2);
        }
    }

    @Test
    void aFrozenLinkIsFrozenForNewConnectionsTooAHeldOneIsNot() throws Exception {
        try (Link link = link(Deaths.TOLD)) {
            link.freeze(Way.BACK);
            try (Socket client = connect(link);
                    Socket served = accept()) {
                say(served, 1);
                assertSilent(client);
                link.heal();
                assertThat(hear(client)).isEqualTo(1);
            }
            link.hold();
            try (Socket client = connect(link);
                    Socket served = accept()) {
                say(client, 2);
                assertThat(hear(served)).isEqualTo(2);
            }
        }
    }

    @Test
    void aDeathIsToldAfterTheLastByteAndNotThroughAFrozenLink() throws Exception {
        try (Link link = link(Deaths.TOLD);
                Socket client = connect(link);
                Socket served = accept()) {
            link.freeze(Way.ONWARD);
            say(client, 1);
            client.shutdownOutput();
            assertSilent(served);

            link.heal();

            assertThat(hear(served)).isEqualTo(1);
            assertThat(hear(served)).isEqualTo(-1);
        }
    }

    @Test
    void aHiddenDeathIsNotTold() throws Exception {
        try (Link link = link(Deaths.HIDDEN);
                Socket client = connect(link);
                Socket served = accept()) {
            say(client, 1);
            client.shutdownOutput();
            assertThat(hear(served)).isEqualTo(1);
            assertSilent(served);
        }
    }

    @Test
    void aCutIsAResetAndTheNextConnectionIsWell() throws Exception {
        try (Link link = link(Deaths.TOLD)) {
            try (Socket client = connect(link);
                    Socket served = accept()) {
                say(client, 1);
                assertThat(hear(served)).isEqualTo(1);
                link.cut();
                assertThatThrownBy(() -> hear(client))
                        .isInstanceOf(IOException.class)
                        .hasMessageContaining("reset");
            }
            try (Socket client = connect(link);
                    Socket served = accept()) {
                say(client, 2);
                assertThat(hear(served)).isEqualTo(2);
            }
        }
    }
}
