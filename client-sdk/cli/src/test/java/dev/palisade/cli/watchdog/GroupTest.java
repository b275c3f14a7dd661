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
class GroupTest {
    private Group group = new Group(Long.MAX_VALUE);

    private OwnGroup.Running start(String script) throws IOException {
        OwnGroup.Running running = OwnGroup.start(List.of("sh", "-c", script), Map.of());
        group = new Group(running.pid());
        await().until(() -> group.alive());
        return running;
    }

    @AfterEach
    void end() {
        group.kill();
    }

    @Test
    void aGroupIsAliveAsLongAsAnyOfItsProcessesIs() throws Exception {
        OwnGroup.Running running = start("sleep 600 & exit 7");
        assertThat(running.process().waitFor()).isEqualTo(7);
        assertThat(group.alive()).isTrue();
        group.signal("TERM");
        await().until(() -> !group.alive());
    }

    @Test
    void aKillReachesThoseWhoIgnoreSignalsAndTheirChildren() throws Exception {
        OwnGroup.Running running = start("trap '' TERM; sleep 600 & while :; do wait; done");
        group.signal("TERM");
        assertThat(running.process().isAlive()).isTrue();
        group.kill();
        assertThat(running.process().waitFor(60, TimeUnit.SECONDS)).isTrue();
        await().until(() -> !group.alive());
    }

    @Test
    void aStoppedProcessHearsASignal() throws Exception {
        OwnGroup.Running running = start("kill -STOP $$; sleep 600");
        group.signal("TERM");
        assertThat(running.process().waitFor()).isEqualTo(128 + 15);
    }

    @Test
    void aGroupIsFoundByWhatOnlyItHasInItsEnvironment() throws Exception {
        String mark = UUID.randomUUID().toString();
        OwnGroup.Running running = OwnGroup.start(List.of("sh", "-c", "sleep 600 & wait"), Map.of("MARK", mark));
        await().until(() -> Group.carrying("MARK=" + mark).filter(Group::alive).isPresent());
        assertThat(Group.carrying("MARK=" + mark.substring(1))).isEmpty();
        assertThat(Group.carrying("ARK=" + mark)).isEmpty();
        group = Group.carrying("MARK=" + mark).orElseThrow();
        group.kill();
        running.process().waitFor();
        await().until(() -> Group.carrying("MARK=" + mark).isEmpty());
    }

    @Test
    void aGroupThatIsGoneIsNotAlive() throws Exception {
        OwnGroup.Running running = start("sleep 600");
        group.kill();
        running.process().waitFor();
        await().until(() -> !group.alive());
        group.signal("TERM");
        group.kill();
    }
}
