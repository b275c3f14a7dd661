package dev.palisade.server.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class WaitingHellosTest {
    private final List<Task> tasks = new ArrayList<>();
    private boolean takeover = true;
    private final WaitingHellos hellos = new WaitingHellos(() -> takeover, this::after);
    private long now;

    private record Task(long dueMillis, Runnable task) {}

    private static final class Hello implements WaitingHello {
        int signs;
        int proceeded;
        Runnable resumed = () -> {};
        boolean open = true;

        @Override
        public boolean sendSign() {
            signs++;
            return open;
        }

        @Override
        public void proceed(Runnable whenResumed) {
            proceeded++;
            resumed = whenResumed;
        }
    }

    private void after(long millis, Runnable task) {
        tasks.add(new Task(now + millis, task));
    }

    private void pass(long millis) {
        for (long end = now + millis; now <= end; now++) {
            for (Task task : List.copyOf(tasks)) {
                if (task.dueMillis() <= now && tasks.remove(task)) {
                    task.task().run();
                }
            }
        }
    }

    private Hello waits(long patienceMillis) {
        return waits(patienceMillis, 0);
    }

    private Hello waits(long patienceMillis, int resumes) {
        Hello hello = new Hello();
        assertThat(hellos.await(patienceMillis, resumes, hello)).isTrue();
        return hello;
    }

    @Test
    void clientsContinueOnceWhenTheTakeoverIsOver() {
        Hello one = waits(4_000);
        Hello two = waits(4_000);
        pass(1_900);
        assertThat(one.proceeded).isZero();
        takeover = false;
        hellos.over();
        assertThat(one.proceeded).as("not on the thread that says so").isZero();
        pass(10);
        hellos.over();
        pass(20_000);
        assertThat(List.of(one.proceeded, two.proceeded)).containsExactly(1, 1);
        assertThat(tasks).isEmpty();
    }

    @Test
    void aClientGetsFourSignsOfLifeInItsPatience() {
        Hello patient = waits(4_000);
        Hello hasty = waits(400);
        pass(4_000);
        assertThat(patient.signs).isEqualTo(5);
        assertThat(hasty.signs).isEqualTo(41);
    }

    /** The bound on the wait has to be looked at, too. */
    @Test
    void aVeryPatientClientGetsASignEachSecond() {
        Hello hello = waits(Long.MAX_VALUE);
        pass(3_000);
        assertThat(hello.signs).isEqualTo(4);
        pass(7_100);
        assertThat(hello.proceeded).isEqualTo(1);
    }

    @Test
    void aTakeoverWhoseEndWasNotToldIsNoticed() {
        Hello hello = waits(4_000);
        pass(10);
        takeover = false;
        pass(1_000);
        assertThat(hello.proceeded).isEqualTo(1);
    }

    @Test
    void oneThatFailsKeepsNoOtherBack() {
        hellos.await(4_000, 0, new WaitingHello() {
            @Override
            public boolean sendSign() {
                return true;
            }

            @Override
            public void proceed(Runnable whenResumed) {
                throw new IllegalStateException("planted");
            }
        });
        Hello hello = waits(4_000);
        takeover = false;
        hellos.over();
        assertThatThrownBy(() -> pass(2)).hasMessage("planted");
        pass(2);
        assertThat(hello.proceeded).isEqualTo(1);
    }

    @Test
    void aTakeoverThatTakesTooLongIsNotWaitedFor() {
        Hello hello = waits(4_000);
        pass(9_000);
        assertThat(hello.proceeded).isZero();
        pass(1_100);
        assertThat(hello.proceeded).isEqualTo(1);
    }

    @Test
    void aStreamThatHasEndedIsForgotten() {
        Hello hello = waits(4_000);
        pass(10);
        hello.open = false;
        pass(1_000);
        assertThat(hello.proceeded).isEqualTo(1);
        assertThat(tasks).isEmpty();
    }

    @Test
    void withoutATakeoverOrPatienceNobodyWaits() {
        assertThat(hellos.await(0, 0, new Hello())).isFalse();
        assertThat(hellos.await(-1, 0, new Hello())).isFalse();
        takeover = false;
        assertThat(hellos.await(4_000, 0, new Hello())).isFalse();
        assertThat(tasks).isEmpty();
    }

    /** It ends between the question whether there is one and the wait. */
    @Test
    void aTakeoverThatEndsMeanwhileIsNotMissed() {
        int[] asked = {0};
        WaitingHellos raced = new WaitingHellos(() -> asked[0]++ == 0, this::after);
        Hello hello = new Hello();
        assertThat(raced.await(4_000, 0, hello)).isTrue();
        pass(10);
        assertThat(hello.proceeded).isEqualTo(1);
    }

    private void over() {
        takeover = false;
        hellos.over();
        pass(1);
    }

    @Test
    void clientsWithLeasesTakeTurnsInTheOrderOfTheirComing() {
        List<Hello> first = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            first.add(waits(4_000, 1_000));
        }
        Hello second = waits(4_000, 97);
        Hello third = waits(4_000, 1);
        Hello fourth = waits(4_000, 1_000);
        Hello idle = waits(4_000, 0);
        over();
        assertThat(first).allMatch(hello -> hello.proceeded == 1);
        assertThat(idle.proceeded).as("it resumes nothing").isEqualTo(1);
        assertThat(second.proceeded).as("4,097 would be too many").isZero();
        assertThat(third.proceeded).as("it came later").isZero();
        pass(900);
        first.get(2).resumed.run();
        first.get(2).resumed.run();
        pass(1);
        assertThat(List.of(second.proceeded, third.proceeded)).containsExactly(1, 1);
        assertThat(fourth.proceeded).as("one turn ended once").isZero();
    }

    @Test
    void aClientThatNeverResumesLosesItsTurn() {
        waits(4_000, Integer.MIN_VALUE);
        for (int i = 0; i < 4; i++) {
            waits(4_000, 2_000_000_000);
        }
        Hello next = waits(4_000, 1);
        over();
        pass(990);
        assertThat(next.proceeded).isZero();
        pass(20);
        assertThat(next.proceeded).isEqualTo(1);
    }

    @Test
    void whoComesWhileOthersTakeTurnsIsLast() {
        List<Hello> busy = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            busy.add(waits(4_000, 1_024));
        }
        over();
        assertThat(busy.get(4).proceeded).isZero();
        assertThat(hellos.await(4_000, 0, new Hello())).isFalse();
        assertThat(hellos.await(0, 1, new Hello())).as("without patience").isFalse();
        Hello last = waits(4_000, 1_024);
        busy.get(0).resumed.run();
        pass(1);
        assertThat(List.of(busy.get(4).proceeded, last.proceeded)).containsExactly(1, 0);
        busy.get(1).resumed.run();
        pass(1);
        assertThat(last.proceeded).isEqualTo(1);
        assertThat(hellos.await(4_000, 1, new Hello())).as("no client waits").isFalse();
    }

    @Test
    void turnsTakeNoLongerThanATakeoverMay() {
        for (int i = 0; i < 50; i++) {
            waits(4_000, 1_024);
        }
        Hello last = waits(4_000, 1_024);
        over();
        pass(10_100);
        assertThat(last.proceeded).isEqualTo(1);
    }
}
