package dev.palisade.cli.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.cli.watchdog.ProcessGroup;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Searches for real processes. */
class ForcedTerminationTest {
    private final String mark = UUID.randomUUID().toString();

    @Test
    void searchWaitsForCommandThatIsStarting() throws Exception {
        Process watchdog = session("read go; MARK=" + mark + " exec setsid sleep 600");
        await().until(() -> ProcessGroup.inSession(watchdog.pid()));
        AtomicReference<ForcedTermination.Search> found = new AtomicReference<>();
        Thread searching = new Thread(() -> found.set(find(watchdog)));
        searching.start();
        await().until(() -> searching.getState() == Thread.State.TIMED_WAITING || !searching.isAlive());
        assertThat(found.get()).isNull();
        watchdog.outputWriter().append("go\n").close();
        searching.join();
        ForcedTermination.Search search = Objects.requireNonNull(found.get());
        assertThat(search.certain()).isTrue();
        ProcessGroup command = search.found().orElseThrow();
        assertThat(command.alive()).isTrue();
        command.kill();
        await().until(() -> !command.alive());
    }

    @Test
    void orphanOfGroupLeaderIsFound() throws Exception {
        Process leader = session("MARK=" + mark + " sleep 600 & exit");
        leader.waitFor();
        // The child of the shell has the entry once it executes sleep.
        await().until(() -> ProcessGroup.withEnvironment("MARK=" + mark).isPresent());
        ProcessGroup left = ProcessGroup.withEnvironment("MARK=" + mark).orElseThrow();
        assertThat(left.alive()).isTrue();
        left.kill();
        await().until(() -> ProcessGroup.withEnvironment("MARK=" + mark).isEmpty());
    }

    @Test
    void searchAfterIdleWatchdogIsCertainlyEmpty() throws Exception {
        Process watchdog = session("exit");
        assertThat(watchdog.waitFor(60, TimeUnit.SECONDS)).isTrue();
        ForcedTermination.Search search = find(watchdog);
        assertThat(search.certain()).isTrue();
        assertThat(search.found()).isEmpty();
        // A watchdog without its own session could still be starting the command.
        assertThat(ForcedTermination.find(OptionalLong.empty(), "MARK=" + mark, Duration.ofMillis(20))
                        .certain())
                .isFalse();
    }

    /** As after a wrap-around of process ids: the process with the entry leads a group with the watchdog's id. */
    @Test
    void groupWithTheWatchdogsIdIsNotTheCommand() throws Exception {
        ProcessBuilder builder = new ProcessBuilder("timeout", "600", "sleep", "600");
        builder.environment().put("MARK", mark);
        Process leader = builder.start();
        ProcessGroup own = new ProcessGroup(leader.pid());
        try {
            // coreutils' timeout makes itself the leader of a group, and stays in the session.
            await().until(() -> ProcessGroup.withEnvironment("MARK=" + mark)
                    .filter(group -> group.isLedBy(leader.pid()))
                    .isPresent());
            ForcedTermination.Search search =
                    ForcedTermination.find(OptionalLong.of(leader.pid()), "MARK=" + mark, Duration.ofMillis(300));
            assertThat(search.certain()).isFalse();
            assertThat(search.found()).isEmpty();
        } finally {
            own.kill();
        }
        await().until(() -> !own.alive());
    }

    private ForcedTermination.Search find(Process watchdog) {
        return ForcedTermination.find(OptionalLong.of(watchdog.pid()), "MARK=" + mark, Duration.ofSeconds(30));
    }

    private static Process session(String script) throws IOException {
        return new ProcessBuilder("setsid", "sh", "-c", script).start();
    }
}
