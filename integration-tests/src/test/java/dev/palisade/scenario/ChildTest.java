package dev.palisade.scenario;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ChildTest {
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    @Test
    void lineOfStandardErrorIsAwaited() {
        String script = "echo event=early >&2; read go; echo listening; read go; echo event=late >&2; read go";
        try (Child child = Child.start("child", List.of("sh", "-c", script), Map.of())) {
            child.awaitError("event=early", PATIENCE);
            child.send("go");
            assertThat(child.await(line -> line.contains("e")))
                    .as("standard output")
                    .isEqualTo("listening");
            child.awaitError("event=early", PATIENCE); // It was before.
            child.send("go");
            child.awaitError("event=late", PATIENCE);
            child.send("go");
            assertThatExceptionOfType(ScenarioFailed.class)
                    .isThrownBy(() -> child.awaitError("event=never", PATIENCE))
                    .withMessageContaining("child ended");
        }
    }
}
