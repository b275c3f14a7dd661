package dev.palisade.cli.watchdog;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class WatchTest {
    private static final Ending ASK_FIRST = new Ending(false, Duration.ofMillis(300));
    private static final Ending KILL_AT_ONCE = new Ending(true, Duration.ofMillis(300));

    private final List<String> done = new ArrayList<>();
    private boolean alive = true;

    private final Watch.Hands hands = new Watch.Hands() {
        @Override
        public boolean alive() {
            return alive;
        }

        @Override
        public void signal(String name) {
            done.add(name);
        }

        @Override
        public void kill() {
            done.add("KILL");
        }
    };

    /** By both clocks. */
    private static Watch.Moment at(long millis) {
        return new Watch.Moment(millis * 1_000_000, millis);
    }

    private Watch holdingFor1000(Ending ending) {
        return new Watch(ending, hands, at(0), Duration.ofSeconds(1));
    }

    @Test
    void nothingHappensWhileTheLeaseHolds() {
        Watch watch = holdingFor1000(ASK_FIRST);
        watch.tick(at(999));
        assertThat(done).isEmpty();
        assertThat(watch.nextNanos(at(999))).isEqualTo(1_000_000);
    }

    @Test
    void atTheDeadlineTheCommandIsAskedAndThenKilled() {
        Watch watch = holdingFor1000(ASK_FIRST);
        watch.tick(at(1000));
        assertThat(done).containsExactly("TERM");
        assertThat(watch.nextNanos(at(1000))).isEqualTo(300_000_000);
        watch.tick(at(1299));
        assertThat(done).containsExactly("TERM");
        watch.tick(at(1300));
        assertThat(done).containsExactly("TERM", "KILL");
    }

    @Test
    void atTheDeadlineTheCommandIsKilledAtOnceIfThatWasAskedFor() {
        Watch watch = holdingFor1000(KILL_AT_ONCE);
        watch.tick(at(1000));
        assertThat(done).containsExactly("KILL");
    }

    @Test
    void theDeadlineCountsByTheClockThatSaysItIsLater() {
        Watch slept = holdingFor1000(ASK_FIRST);
        slept.tick(new Watch.Moment(10, 1000));
        assertThat(done).as("the wall clock").containsExactly("TERM");
        done.clear();
        Watch setBack = holdingFor1000(ASK_FIRST);
        setBack.tick(new Watch.Moment(1_000_000_000, -5_000));
        assertThat(done).as("the monotonic clock").containsExactly("TERM");
    }

    @Test
    void anAnswerCountsFromItsQuestionHoweverLateItComes() {
        Watch watch = holdingFor1000(ASK_FIRST);
        watch.holds(at(500), Duration.ofSeconds(1));
        watch.tick(at(1499));
        assertThat(done).isEmpty();
        watch.tick(at(1500));
        assertThat(done).containsExactly("TERM");
    }

    @Test
    void anAnswerAfterTheDeadlineChangesNothing() {
        Watch watch = holdingFor1000(ASK_FIRST);
        watch.tick(at(1000));
        watch.holds(at(1000), Duration.ofSeconds(1));
        watch.tick(at(1300));
        assertThat(done).containsExactly("TERM", "KILL");
        assertThat(watch.lost()).isTrue();
    }

    @Test
    void aLostLeaseEndsTheCommandOnceBeforeTheDeadline() {
        Watch watch = holdingFor1000(ASK_FIRST);
        watch.lost(at(100));
        watch.lost(at(150));
        watch.tick(at(200));
        assertThat(done).containsExactly("TERM");
        watch.tick(at(400));
        assertThat(done).containsExactly("TERM", "KILL");
    }

    @Test
    void aLeaseLostWhileTheCommandIsEndingDoesNotGiveItMoreTime() {
        Watch watch = holdingFor1000(ASK_FIRST);
        watch.signal("INT", at(0));
        watch.lost(at(200));
        watch.tick(at(300));
        assertThat(done).containsExactly("INT", "TERM", "KILL");
    }

    @Test
    void aSignalIsPassedOnEachTimeAndTheTimeToEndCountsFromTheFirst() {
        Watch watch = holdingFor1000(ASK_FIRST);
        watch.signal("HUP", at(0));
        watch.signal("INT", at(299));
        watch.tick(at(300));
        assertThat(done).containsExactly("HUP", "INT", "KILL");
        assertThat(watch.lost()).isFalse();
    }

    @Test
    void theEndIsToldWhenNothingOfTheGroupIsLeft() {
        Watch watch = holdingFor1000(ASK_FIRST);
        watch.firstEnded(7, at(100));
        assertThat(watch.over()).isFalse();
        assertThat(watch.lingers()).isTrue();
        assertThat(done).as("what it left running").containsExactly("TERM");
        watch.tick(at(400));
        assertThat(done).containsExactly("TERM", "KILL");
        alive = false;
        watch.tick(at(410));
        assertThat(watch.over()).isTrue();
        assertThat(watch.ended()).isEqualTo(new Message.Ended(7, false, true));
    }

    @Test
    void aCommandThatEndsAndLeavesNothingIsNotSignalled() {
        Watch watch = holdingFor1000(ASK_FIRST);
        alive = false;
        watch.firstEnded(0, at(100));
        assertThat(done).isEmpty();
        assertThat(watch.ended()).isEqualTo(new Message.Ended(0, false, true));
    }

    @Test
    void theKillIsRepeatedAndWhatSurvivesItIsToldOf() {
        Watch watch = holdingFor1000(KILL_AT_ONCE);
        watch.lost(at(0));
        watch.tick(at(99));
        assertThat(done).hasSize(1);
        watch.tick(at(100));
        assertThat(done).hasSize(2);
        watch.tick(at(5000));
        assertThat(watch.over()).isTrue();
        assertThat(watch.ended()).isEqualTo(new Message.Ended(137, true, false));
    }

    @Test
    void aLeaseThatEndsWhileTheRestIsEndingCountsAsLost() {
        Watch watch = holdingFor1000(ASK_FIRST);
        watch.firstEnded(0, at(990));
        watch.tick(at(1000));
        alive = false;
        watch.tick(at(1010));
        assertThat(watch.ended()).isEqualTo(new Message.Ended(0, true, true));
    }
}
