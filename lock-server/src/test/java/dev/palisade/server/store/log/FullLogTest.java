package dev.palisade.server.store.log;

import static dev.palisade.server.store.log.Asking.acquire;
import static dev.palisade.server.store.log.Asking.name;
import static dev.palisade.server.store.log.Asking.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import dev.palisade.contract.RequestId;
import dev.palisade.server.core.Abandon;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.CheckSequencer;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.EndCause;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.Leave;
import dev.palisade.server.store.log.SharedServers.Server;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** A log that refused records for longer than the store's timeout. */
class FullLogTest {
    @Test
    void locksAreGrantedAgainUnderSteadyLoad() {
        SharedServers servers = new SharedServers();
        Server a = servers.server("a:7400");
        a.store.takeTurn();
        servers.log.full(true);
        var unused = a.ask(acquire("l", 1, 1, Duration.ZERO));
        a.live(3_000);
        assertThat(a.store.status().up()).isFalse();
        assertThat(a.store.status().why())
                .isEqualTo("the log refuses records, so locks are only freed (" + MemoryLogServer.FULL + ")");
        servers.log.full(false);
        for (int i = 0; i < 10; i++) {
            a.live(50);
            a.answer(new Describe(name("l")));
        }
        assertThat(a.answer(acquire("l", 1, 2, Duration.ZERO))).isInstanceOf(Answer.Granted.class);
        assertThat(a.store.status().up()).isTrue();
    }

    /** Its client may be back on a newer stream, and cannot resume it. */
    @Test
    void leaseOfABrokenStreamStaysWhileTheLogIsFull() {
        SharedServers servers = new SharedServers();
        Server a = servers.server("a:7400");
        a.store.takeTurn();
        Grant held = ((Answer.Granted) a.answer(acquire("l", 1, 1, Duration.ZERO))).grant();
        var unusedPlace = a.ask(acquire("l", 2, 1, Duration.ofMinutes(1)));
        servers.log.full(true);
        var unused = a.ask(acquire("other", 1, 2, Duration.ZERO));
        a.live(3_000);
        Abandon abandon = new Abandon(name("l"), held.id(), 1, EndCause.CONNECTION_BROKE);
        RequestId waiter = acquire("l", 2, 1, Duration.ofMinutes(1)).request().id();
        assertThat(a.answer(abandon)).isInstanceOf(Answer.Refused.class);
        assertThat(a.answer(new Describe(name("l")))).isInstanceOf(Answer.Described.class);
        assertThat(a.answer(new CheckSequencer(name("l"), held.id(), held.token())))
                .isEqualTo(new Answer.Checked(true));
        assertThat(a.answer(new Leave(name("l"), waiter, 1, EndCause.CONNECTION_BROKE)))
                .isInstanceOf(Answer.Refused.class);
        assertThat(a.answer(new Leave(name("l"), waiter, Leave.BY_CLIENT, EndCause.CONNECTION_BROKE)))
                .isEqualTo(new Answer.Left(true));
        servers.log.full(false);
        a.live(1_000);
        assertThat(a.answer(abandon)).isEqualTo(new Answer.Abandoned(true));
    }

    @Test
    void aServerThatTakesOverAFullLogFreesLocksAndGrantsThemAgain() {
        SharedServers servers = new SharedServers();
        Server a = servers.server("a:7400");
        a.store.takeTurn();
        Grant held = ((Answer.Granted) a.answer(acquire("l", 1, 1, Duration.ZERO))).grant();
        Server b = servers.server("b:7400");
        b.store.takeTurn();
        servers.log.full(true);
        b.live(3_000); // The first server is paused.
        assertThat(b.answer(acquire("l", 1, 3, Duration.ZERO)))
                .asInstanceOf(type(Answer.Refused.class))
                .extracting(refused -> refused.rejection().message())
                .asString()
                .contains(MemoryLogServer.FULL);
        assertThat(b.store.status().up()).isFalse();
        assertThat(b.answer(release(name("l"), held))).isInstanceOf(Answer.Released.class);
        servers.log.full(false);
        b.live(1_000);
        assertThat(b.answer(acquire("l", 1, 2, Duration.ZERO))).isInstanceOf(Answer.Granted.class);
    }
}
