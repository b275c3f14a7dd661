package dev.palisade.cli.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.cli.watchdog.Group;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** With real processes. */
class EndgameTest {
    private final String mark = UUID.randomUUID().toString();

    @Test
    void aCommandThatIsStillBeingMadeIsWaitedFor() throws Exception {
        Process watchdog = session("read go; MARK=" + mark + " exec setsid sleep 600");
        await().until(() -> Group.inSession(watchdog.pid()));
        AtomicReference<Endgame.Search> found = new AtomicReference<>();
        Thread searching = new Thread(() -> found.set(find(watchdog)));
        searching.start();
        await().until(() -> searching.getState() == Thread.State.TIMED_WAITING || !searching.isAlive());
        assertThat(found.get()).isNull();
        watchdog.outputWriter().append("go\n").close();
        searching.join();
        Endgame.Search search = Objects.requireNonNull(found.get());
        assertThat(search.certain()).isTrue();
        Group command = search.found().orElseThrow();
        assertThat(command.alive()).isTrue();
        command.kill();
        await().until(() -> !command.alive());
    }

    @Test
    void whatALeaderLeftBehindIsFoundByItsGroup() throws Exception {
        Process leader = session("MARK=" + mark + " sleep 600 & exit");
        leader.waitFor();
        // What the shell leaves behind has the entry once it has become sleep.
        await().until(() -> Group.carrying("MARK=" + mark).isPresent());
        Group left = Group.carrying("MARK=" + mark).orElseThrow();
        assertThat(left.alive()).isTrue();
        left.kill();
        await().until(() -> Group.carrying("MARK=" + mark).isEmpty());
    }

    @Test
    void aWatchdogThatStartedNothingIsKnownToHaveStartedNothing() throws Exception {
        Process watchdog = session("exit");
        assertThat(watchdog.waitFor(60, TimeUnit.SECONDS)).isTrue();
        Endgame.Search search = find(watchdog);
        assertThat(search.certain()).isTrue();
        assertThat(search.found()).isEmpty();
        // One without a session of its own could still be starting it.
        assertThat(Endgame.find(OptionalLong.empty(), "MARK=" + mark, Duration.ofMillis(20))
                        .certain())
                .isFalse();
    }

    /** As with a wrapped process id: what has the entry leads a group of the watchdog's number, and no session is seen. */
    @Test
    void aGroupOfTheWatchdogsOwnNumberIsNotTakenForTheCommands() throws Exception {
        ProcessBuilder builder = new ProcessBuilder("timeout", "600", "sleep", "600");
        builder.environment().put("MARK", mark);
        Process leader = builder.start();
        Group own = new Group(leader.pid());
        try {
            // coreutils' timeout makes itself the leader of a group, and stays in the session.
            await().until(() -> Group.carrying("MARK=" + mark)
                    .filter(group -> group.isLedBy(leader.pid()))
                    .isPresent());
            Endgame.Search search = Endgame.find(OptionalLong.of(leader.pid()), "MARK=" + mark, Duration.ofMillis(300));
            assertThat(search.certain()).isFalse();
            assertThat(search.found()).isEmpty();
        } finally {
            own.kill();
        }
        await().until(() -> !own.alive());
    }

    private Endgame.Search find(Process watchdog) {
        return Endgame.find(OptionalLong.of(watchdog.pid()), "MARK=" + mark, Duration.ofSeconds(30));
    }

    private static Process session(String script) throws IOException {
        return new ProcessBuilder("setsid", "sh", "-c", script).start();
    }
}
