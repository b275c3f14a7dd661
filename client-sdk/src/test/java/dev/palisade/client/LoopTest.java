package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LoopTest {
    private final FakeTime time = new FakeTime();
    private final List<Throwable> bugs = new ArrayList<>();
    private final List<String> ran = new ArrayList<>();
    private final Loop loop = new Loop(time.clocks(), time, Entry.of(Runnable::run), bugs::add);

    @Test
    void aTaskThatThrowsIsReportedAndTakesNothingWithIt() {
        loop.execute(() -> {
            loop.in(10, () -> {
                throw new IllegalStateException("a bug");
            });
            loop.in(1_000_000, () -> ran.add("later"));
        });
        time.advanceMillis(5);
        assertThat(bugs).hasSize(1);
        assertThat(ran).containsExactly("later");
    }

    @Test
    void anEarlierTaskIsNotHeldUpByALaterOne() {
        loop.execute(() -> {
            loop.in(9_000_000, () -> ran.add("9"));
            loop.in(2_000_000, () -> ran.add("2"));
        });
        time.advanceMillis(3);
        assertThat(ran).containsExactly("2");
        time.advanceMillis(6);
        assertThat(ran).containsExactly("2", "9");
    }

    @Test
    void whatATaskBringsUpComesAfterIt() {
        loop.execute(() -> {
            loop.execute(() -> ran.add("second"));
            ran.add("first");
        });
        assertThat(ran).containsExactly("first", "second");
    }
}
