package dev.palisade.chaos.abuse;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.cli.Commands;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The short form of {@code palisade chaos abuse}: counts and recovery, and no times, which say little in a busy build. */
class AbuseIT {
    private static final Duration SHORT = Duration.ofSeconds(1);

    @ParameterizedTest
    @EnumSource(Flood.class)
    void serverIsAsBeforeAfterEachFlood(Flood flood) throws Exception {
        try (Installation installation = Installation.fresh()) {
            Service server = installation.server();
            try {
                FloodResult result = new AbuseRun(
                                server.address(),
                                new InetSocketAddress(
                                        InetAddress.getLoopbackAddress(), Integer.parseInt(server.port())),
                                server.child().pid(),
                                SHORT,
                                false)
                        .run(flood);
                assertThat(result.broken()).as(result.row()).isEmpty();
                assertThat(result.steps()).as("the flood took place").isPositive();
                assertThat(result.calls()).as("the probe measured").isPositive();
            } finally {
                server.child().close();
            }
        }
    }

    /** Addresses for documentation, of no machine: were they not refused, nothing would be harmed. */
    @ParameterizedTest
    @ValueSource(strings = {"192.0.2.1:7600", "[2001:db8::1]:7600", "0.0.0.0:7600", "7600", "127.0.0.1:99999"})
    void otherAddressesThanLoopbackAreRefused(String target) {
        assertThat(Commands.run(new AbuseCommand(), "--target", target)).isEqualTo(Commands.USAGE);
    }

    @Test
    void unknownFloodIsRefused() {
        assertThat(Commands.run(new AbuseCommand(), "--only", "rapid-rest")).isEqualTo(Commands.USAGE);
    }
}
