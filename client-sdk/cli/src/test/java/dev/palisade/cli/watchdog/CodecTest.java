package dev.palisade.cli.watchdog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class CodecTest {
    static Stream<Message> messages() {
        return Stream.of(
                new Message.Start(
                        List.of("sh", "-c", "", "ü\n", "x".repeat(100_000)),
                        Map.of("A", "1", "B", ""),
                        new TerminationPolicy(true, Duration.ofMillis(1)),
                        Duration.ofSeconds(9)),
                new Message.ValidityRequest(),
                new Message.ValidityReply(Duration.ofNanos(123)),
                new Message.Signal("HUP"),
                new Message.Lost(),
                new Message.Started(1L << 40),
                new Message.Failed("why"),
                new Message.Ended(7, true, false),
                new Message.Ended(0, false, true));
    }

    @ParameterizedTest
    @MethodSource("messages")
    void decodedMessageEqualsEncoded(Message message) throws IOException {
        assertThat(Codec.message(Codec.bytes(message))).isEqualTo(message);
    }

    @Test
    void everyMessageTypeIsTested() {
        assertThat(messages().map(Object::getClass).distinct()).hasSize(Message.class.getPermittedSubclasses().length);
    }

    @Test
    void malformedBytesAreRejected() {
        assertThatThrownBy(() -> Codec.message(new byte[] {99})).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> Codec.message(new byte[0])).isInstanceOf(IOException.class);
    }
}
