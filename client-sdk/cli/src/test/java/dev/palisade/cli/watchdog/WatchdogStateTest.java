package dev.palisade.cli.watchdog;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class WatchdogStateTest {
    private static final TerminationPolicy TERM_FIRST = new TerminationPolicy(false, Duration.ofMillis(300));
    private static final TerminationPolicy KILL_AT_ONCE = new TerminationPolicy(true, Duration.ofMillis(300));

    private final List<String> signals = new ArrayList<>();
    private boolean alive = true;

    private final WatchdogState.ProcessControl command = new WatchdogState.ProcessControl() {
        @Override
        public boolean alive() {
            return alive;
        }

        @Override
        public void signal(String name) {
            signals.add(name);
        }

        @Override
        public void kill() {
            signals.add("KILL");
        }
    };

    /** A reading on which both clocks agree. */
    private static WatchdogState.ClockReading at(long millis) {
        return new WatchdogState.ClockReading(millis * 1_000_000, millis);
    }

    private WatchdogState validFor1000(TerminationPolicy termination) {
        return new WatchdogState(termination, command, at(0), Duration.ofSeconds(1));
    }

    @Test
    void noSignalWhileLeaseIsValid() {
        WatchdogState state = validFor1000(TERM_FIRST);
        state.tick(at(999));
        assertThat(signals).isEmpty();
        assertThat(state.nextNanos(at(999))).isEqualTo(1_000_000);
    }

    @Test
    void termAtDeadlineThenKill() {
        WatchdogState state = validFor1000(TERM_FIRST);
        state.tick(at(1000));
        assertThat(signals).containsExactly("TERM");
        assertThat(state.nextNanos(at(1000))).isEqualTo(300_000_000);
        state.tick(at(1299));
        assertThat(signals).containsExactly("TERM");
        state.tick(at(1300));
        assertThat(signals).containsExactly("TERM", "KILL");
    }

    @Test
    void killAtDeadlineWithKillAtOnce() {
        WatchdogState state = validFor1000(KILL_AT_ONCE);
        state.tick(at(1000));
        assertThat(signals).containsExactly("KILL");
    }

    @Test
    void deadlineFollowsTheClockThatIsAhead() {
        WatchdogState slept = validFor1000(TERM_FIRST);
        slept.tick(new WatchdogState.ClockReading(10, 1000));
        assertThat(signals).as("the wall clock").containsExactly("TERM");
        signals.clear();
        WatchdogState setBack = validFor1000(TERM_FIRST);
        setBack.tick(new WatchdogState.ClockReading(1_000_000_000, -5_000));
        assertThat(signals).as("the monotonic clock").containsExactly("TERM");
    }

    @Test
    void validityCountsFromItsRequest() {
        WatchdogState state = validFor1000(TERM_FIRST);
        state.validity(at(500), Duration.ofSeconds(1));
        state.tick(at(1499));
        assertThat(signals).isEmpty();
        state.tick(at(1500));
        assertThat(signals).containsExactly("TERM");
    }

    @Test
    void validityAfterDeadlineChangesNothing() {
        WatchdogState state = validFor1000(TERM_FIRST);
        state.tick(at(1000));
        state.validity(at(1000), Duration.ofSeconds(1));
        state.tick(at(1300));
        assertThat(signals).containsExactly("TERM", "KILL");
        assertThat(state.lost()).isTrue();
    }

    @Test
    void lostLeaseTerminatesCommandOnce() {
        WatchdogState state = validFor1000(TERM_FIRST);
        state.lost(at(100));
        state.lost(at(150));
        state.tick(at(200));
        assertThat(signals).containsExactly("TERM");
        state.tick(at(400));
        assertThat(signals).containsExactly("TERM", "KILL");
    }

    @Test
    void lossDuringTerminationDoesNotPostponeKill() {
        WatchdogState state = validFor1000(TERM_FIRST);
        state.signal("INT", at(0));
        state.lost(at(200));
        state.tick(at(300));
        assertThat(signals).containsExactly("INT", "TERM", "KILL");
    }

    @Test
    void everySignalIsForwardedAndFirstSchedulesKill() {
        WatchdogState state = validFor1000(TERM_FIRST);
        state.signal("HUP", at(0));
        state.signal("INT", at(299));
        state.tick(at(300));
        assertThat(signals).containsExactly("HUP", "INT", "KILL");
        assertThat(state.lost()).isFalse();
    }

    @Test
    void endIsReportedWhenGroupIsEmpty() {
        WatchdogState state = validFor1000(TERM_FIRST);
        state.firstProcessEnded(7, at(100));
        assertThat(state.finished()).isFalse();
        assertThat(state.awaitsGroup()).isTrue();
        assertThat(signals).as("remaining processes").containsExactly("TERM");
        state.tick(at(400));
        assertThat(signals).containsExactly("TERM", "KILL");
        alive = false;
        state.tick(at(410));
        assertThat(state.finished()).isTrue();
        assertThat(state.ended()).isEqualTo(new Message.Ended(7, false, true));
    }

    @Test
    void endedCommandIsNotSignalled() {
        WatchdogState state = validFor1000(TERM_FIRST);
        alive = false;
        state.firstProcessEnded(0, at(100));
        assertThat(signals).isEmpty();
        assertThat(state.ended()).isEqualTo(new Message.Ended(0, false, true));
    }

    @Test
    void killIsRepeatedAndSurvivorsAreReported() {
        WatchdogState state = validFor1000(KILL_AT_ONCE);
        state.lost(at(0));
        state.tick(at(99));
        assertThat(signals).hasSize(1);
        state.tick(at(100));
        assertThat(signals).hasSize(2);
        state.tick(at(5000));
        assertThat(state.finished()).isTrue();
        assertThat(state.ended()).isEqualTo(new Message.Ended(137, true, false));
    }

    @Test
    void leaseExpiredDuringGroupTerminationIsLost() {
        WatchdogState state = validFor1000(TERM_FIRST);
        state.firstProcessEnded(0, at(990));
        state.tick(at(1000));
        alive = false;
        state.tick(at(1010));
        assertThat(state.ended()).isEqualTo(new Message.Ended(0, true, true));
    }
}
