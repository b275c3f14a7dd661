package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.cli.Commands.CannotStart;
import io.netty.channel.embedded.EmbeddedChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.junit.jupiter.api.Test;

class ConnectionLimitTest {
    private int port = 10_000;

    private EmbeddedChannel client() {
        SocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), ++port);
        return new EmbeddedChannel() {
            @Override
            protected SocketAddress remoteAddress0() {
                return address;
            }
        };
    }

    @Test
    void oldestIdleConnectionGivesWayToTheNext() {
        ConnectionLimit limit = new ConnectionLimit(2, EventLog.NONE, peer -> {});
        EmbeddedChannel listening = new EmbeddedChannel(limit);
        EmbeddedChannel first = client();
        EmbeddedChannel second = client();
        EmbeddedChannel third = client();
        listening.writeInbound(first, second);
        assertThat(first.isOpen()).isTrue();
        listening.writeInbound(third);
        first.runPendingTasks();
        assertThat(first.isOpen()).as("the oldest without a call").isFalse();
        assertThat(second.isOpen()).isTrue();
        assertThat(third.isOpen()).isTrue();
    }

    @Test
    void connectionThatDoesNotBeginAsHttp2IsClosed() {
        ConnectionLimit limit = new ConnectionLimit(2, EventLog.NONE, peer -> {});
        EmbeddedChannel listening = new EmbeddedChannel(limit);
        EmbeddedChannel silent = client();
        listening.writeInbound(silent);
        silent.pipeline().fireChannelRegistered();
        silent.advanceTimeBy(ConnectionLimit.HANDSHAKE_MILLIS, java.util.concurrent.TimeUnit.MILLISECONDS);
        silent.runScheduledPendingTasks();
        assertThat(silent.isOpen()).isFalse();
    }

    @Test
    void boundLeavesDescriptorsForTheJournal() throws Exception {
        assertThat(ConnectionLimit.within(300, 30)).isEqualTo(300 - 30 - ConnectionLimit.DESCRIPTORS_RESERVED);
        assertThat(ConnectionLimit.within(1L << 40, 30)).isEqualTo(ConnectionLimit.CONNECTIONS_MAX);
        assertThatThrownBy(() -> ConnectionLimit.within(150, 30))
                .isInstanceOf(CannotStart.class)
                .hasMessageContaining("limit of open files is 150")
                .hasMessageContaining("ulimit -n");
    }
}
