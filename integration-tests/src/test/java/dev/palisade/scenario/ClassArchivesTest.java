package dev.palisade.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ClassArchivesTest {
    /** A build that is started where services are configured must not talk to their Redis. */
    @Test
    void processesOfTheBuildHaveNoSettingsOfTheUser() {
        Map<String, String> settings = Map.of("PALISADE_SERVER_REDIS", "redis://production", "PALISADE_HOME", "/home");
        List<String> command = new ArrayList<>(ClassArchives.withoutSettings(settings));
        command.add("env");
        try (Child child = Child.start("environment", command, settings)) {
            child.awaitExit();
            assertThat(child.remainingOutput())
                    .contains("PALISADE_HOME=/home")
                    .noneMatch(line -> line.contains("production"));
        }
    }
}
