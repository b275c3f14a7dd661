package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A {@link Door} with as many calls before and behind it as a guard lets wait: what each of them costs the others. */
class DoorCrowdTest {
    private static final int CROWD = 10_000;

    private final Door door = new Door("l", Mark.NONE, 0, 0, 0);

    /** Far below a second; where each looks at each it takes hours. */
    @Test
    @Timeout(120)
    void manyCallsMakeWayForManyOthers() {
        List<Visit> running = crowd(33);
        running.forEach(this::arriveAndSave);
        List<Visit> waiting = crowd(34);
        waiting.forEach(this::arriveAndSave);
        assertThat(door.takeSuperseded()).containsExactlyInAnyOrderElementsOf(running);
        List<Visit> leaving = waiting.subList(0, CROWD / 2);
        leaving.forEach(visit -> door.giveUp(visit, 0));
        running.forEach(visit -> door.ended(visit, 0));
        assertThat(leaving).allMatch(visit -> visit.state() == Visit.State.REFUSED);
        assertThat(waiting.subList(CROWD / 2, CROWD)).allMatch(visit -> visit.state() == Visit.State.RUNNING);
    }

    @Test
    void whoCameInAfterOthersWereAskedToStopIsAskedToo() {
        Visit early = arriveAndSave(visit(Mode.SHARED, 32));
        Visit overtaken = arriveAndSave(visit(Mode.EXCLUSIVE, 33));
        assertThat(door.takeSuperseded()).containsExactly(early);
        Visit late = arriveAndSave(visit(Mode.SHARED, 35));
        assertThat(overtaken.state()).isEqualTo(Visit.State.REFUSED);
        assertThat(late.state()).isEqualTo(Visit.State.RUNNING);
        arriveAndSave(visit(Mode.EXCLUSIVE, 36));
        assertThat(door.takeSuperseded()).containsExactly(late);
    }

    @Test
    void theLastLostWriteLetsItsOwnGrantInAgainBesideWhatRuns() {
        Visit write = arriveAndSave(visit(Mode.EXCLUSIVE, 33));
        Visit another = arriveAndSave(visit(Mode.EXCLUSIVE, 33));
        Visit running = arriveAndSave(visit(Mode.EXCLUSIVE, 33));
        door.outcomeUnknown(write, 10);
        door.outcomeUnknown(another, 20);
        Visit waiting = arriveAndSave(visit(Mode.EXCLUSIVE, 33));
        door.pass(10);
        assertThat(waiting.state()).isEqualTo(Visit.State.WAITING);
        door.pass(20);
        assertThat(waiting.state()).isEqualTo(Visit.State.RUNNING);
        assertThat(running.state()).isEqualTo(Visit.State.RUNNING);
    }

    private Visit arriveAndSave(Visit visit) {
        door.arrive(visit, 0);
        if (door.mustSave()) {
            door.saved(door.mark(), 0);
        }
        return visit;
    }

    private static List<Visit> crowd(long token) {
        return Stream.generate(() -> visit(Mode.EXCLUSIVE, token)).limit(CROWD).toList();
    }

    private static Visit visit(Mode mode, long token) {
        Access access = mode == Mode.SHARED ? Access.READ : Access.WRITE;
        LockName lock = new LockName("l");
        return new Visit(new Sequencer("i", lock, mode, new FencingToken(token), new GrantId(1, token), 0), access, 0);
    }
}
