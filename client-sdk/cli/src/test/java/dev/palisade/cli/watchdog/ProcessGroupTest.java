package dev.palisade.cli.watchdog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** With real processes, which end by being ended. */
class ProcessGroupTest {
    private ProcessGroup group = new ProcessGroup(Long.MAX_VALUE);

    private CommandLauncher.Running start(String script) throws IOException {
        CommandLauncher.Running running = CommandLauncher.start(List.of("sh", "-c", script), Map.of());
        group = new ProcessGroup(running.pid());
        await().until(() -> group.alive());
        return running;
    }

    @AfterEach
    void end() {
        group.kill();
    }

    @Test
    void groupIsAliveWhileAnyProcessRuns() throws Exception {
        CommandLauncher.Running running = start("sleep 600 & exit 7");
        assertThat(running.process().waitFor()).isEqualTo(7);
        assertThat(group.alive()).isTrue();
        group.signal("TERM");
        await().until(() -> !group.alive());
    }

    @Test
    void killReachesDescendantsAndIgnoresHandlers() throws Exception {
        CommandLauncher.Running running = start("trap '' TERM; sleep 600 & while :; do wait; done");
        group.signal("TERM");
        assertThat(running.process().isAlive()).isTrue();
        group.kill();
        assertThat(running.process().waitFor(60, TimeUnit.SECONDS)).isTrue();
        await().until(() -> !group.alive());
    }

    @Test
    void stoppedProcessHandlesSignal() throws Exception {
        CommandLauncher.Running running = start("kill -STOP $$; sleep 600");
        group.signal("TERM");
        assertThat(running.process().waitFor()).isEqualTo(128 + 15);
    }

    @Test
    void groupIsFoundByItsEnvironment() throws Exception {
        String mark = UUID.randomUUID().toString();
        CommandLauncher.Running running =
                CommandLauncher.start(List.of("sh", "-c", "sleep 600 & wait"), Map.of("MARK", mark));
        await().until(() -> ProcessGroup.withEnvironment("MARK=" + mark)
                .filter(ProcessGroup::alive)
                .isPresent());
        assertThat(ProcessGroup.withEnvironment("MARK=" + mark.substring(1))).isEmpty();
        assertThat(ProcessGroup.withEnvironment("ARK=" + mark)).isEmpty();
        group = ProcessGroup.withEnvironment("MARK=" + mark).orElseThrow();
        group.kill();
        running.process().waitFor();
        await().until(() -> ProcessGroup.withEnvironment("MARK=" + mark).isEmpty());
    }

    @Test
    void endedGroupIsNotAlive() throws Exception {
        CommandLauncher.Running running = start("sleep 600");
        group.kill();
        running.process().waitFor();
        await().until(() -> !group.alive());
        group.signal("TERM");
        group.kill();
    }
}
