package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a guard does whose marks another guard can take over, or whose store fails. */
class MarkOwnershipTest {
    private static final SequencerKeys KEYS = SequencerKeys.generate();
    private static final Duration DELTA = Duration.ofSeconds(32);
    private static final Duration QUARTER = DELTA.dividedBy(4);

    private final ManualTime time = new ManualTime();
    private final SlowMarkStore store = new SlowMarkStore();
    private final List<String> lines = new ArrayList<>();
    private final AtomicInteger stopped = new AtomicInteger();
    private Guard guard;

    @BeforeEach
    void open() {
        store.heldForLife = false;
        store.syncsAtOnce = true;
        guard = Guard.builder(KEYS.verifier("palisade"), store)
                .executor(Runnable::run)
                .time(time)
                .unknownOutcomeTimeout(DELTA)
                .eventLines(lines::add)
                .build();
    }

    @Test
    void replacedGuardStopsItsRunningCallsWithinAQuarterOfDelta() {
        Admission running = write(33).join();
        running.onSuperseded(stopped::incrementAndGet);
        store.taken = true;
        pass(QUARTER);
        assertThat(stopped).hasValue(1);
    }

    @Test
    void replacedGuardRefusesCallsForGoodAndSaysWhyOnce() {
        assertThat(write(33)).isCompleted();
        store.taken = true;
        pass(QUARTER);
        store.taken = false;
        pass(DELTA);
        assertThat(write(33)).isCompletedExceptionally();
        assertThat(guard.refusal())
                .hasValueSatisfying(why -> assertThat(why.message()).isEqualTo("the disk is gone"));
        assertThat(lines)
                .filteredOn(line -> line.startsWith("event=marks_lost"))
                .hasSize(1);
    }

    @Test
    void healthFollowsTheOwnershipOfTheMarks() {
        List<Boolean> health = new ArrayList<>();
        guard.onServingChange(health::add);
        assertThat(health).containsExactly(true);
        store.taken = true;
        pass(QUARTER);
        assertThat(health).containsExactly(true, false);
        guard.close();
        assertThat(health).containsExactly(true, false);
        assertThat(guard.isServing()).isFalse();
    }

    @Test
    void callTakenOverAtItsOwnCheckStopsTheOthersAtOnce() {
        write(33).join().onSuperseded(stopped::incrementAndGet);
        store.taken = true;
        assertThat(write(33)).isCompletedExceptionally();
        assertThat(stopped).hasValue(1);
        assertThat(guard.isServing()).isFalse();
    }

    @Test
    void callsThatOutliveTheMarksAreReported() {
        Admission running = write(33).join();
        store.taken = true;
        pass(QUARTER);
        assertThat(lines).noneMatch(line -> line.startsWith("event=calls_outlive_marks"));
        pass(DELTA);
        assertThat(lines)
                .filteredOn(line -> line.startsWith("event=calls_outlive_marks"))
                .hasSize(1);
        running.close();
    }

    @Test
    void callsThatEndInTimeAreNotReported() {
        Admission running = write(33).join();
        running.onSuperseded(running::close);
        store.taken = true;
        pass(DELTA.multipliedBy(2));
        assertThat(lines).noneMatch(line -> line.startsWith("event=calls_outlive_marks"));
    }

    /** The successor may be in half a delta later, and a backend may take as long. */
    @Test
    void silentStoreStopsCallsAfterHalfOfDeltaAndResumesThem() {
        Admission running = write(33).join();
        running.onSuperseded(stopped::incrementAndGet);
        CompletableFuture<Void> silent = new CompletableFuture<>();
        store.confirmed = silent;
        pass(QUARTER);
        pass(QUARTER);
        assertThat(stopped).hasValue(1);
        assertThat(guard.isServing()).isFalse();
        assertThat(write(33)).isCompletedExceptionally();
        store.confirmed = CompletableFuture.completedFuture(null);
        silent.complete(null);
        assertThat(guard.isServing()).isTrue();
        assertThat(write(33)).isCompleted();
        assertThat(lines)
                .filteredOn(line -> line.startsWith("event=marks_"))
                .extracting(line -> line.split(" ", 2)[0])
                .containsExactly("event=marks_unconfirmed", "event=marks_confirmed");
    }

    @Test
    void oldAnswerOfTheStoreResumesNothing() {
        CompletableFuture<Void> silent = new CompletableFuture<>();
        store.confirmed = silent;
        pass(DELTA);
        store.confirmed = new CompletableFuture<>();
        silent.complete(null);
        pass(QUARTER);
        assertThat(guard.isServing()).isFalse();
        store.confirmed.complete(null);
        assertThat(guard.isServing()).isTrue();
    }

    @Test
    void shortSilenceOfTheStoreStopsNothing() {
        Admission running = write(33).join();
        running.onSuperseded(stopped::incrementAndGet);
        CompletableFuture<Void> silent = new CompletableFuture<>();
        store.confirmed = silent;
        pass(QUARTER);
        silent.complete(null);
        store.confirmed = CompletableFuture.completedFuture(null);
        pass(DELTA.multipliedBy(3));
        assertThat(stopped).hasValue(0);
        assertThat(guard.isServing()).isTrue();
    }

    /** Nobody else can have these marks, so the grant that is in goes on; new marks cannot be kept. */
    @Test
    void failedStoreThatNobodyCanTakeIsReportedAndServesItsGrant() {
        store.heldForLife = true;
        Admission running = write(33).join();
        running.onSuperseded(stopped::incrementAndGet);
        store.syncsAtOnce = false;
        CompletableFuture<Admission> newer = write(34);
        store.taken = true;
        store.fail();
        assertThat(newer).isCompletedExceptionally();
        assertThat(guard.isServing()).isFalse();
        assertThat(lines).anyMatch(line -> line.startsWith("event=marks_failed"));
        assertThat(stopped).hasValue(0);
        assertThat(guard.refusesEveryCall()).isFalse();
        assertThat(guard.refusal())
                .hasValueSatisfying(why -> assertThat(why.message()).isEqualTo("the disk is gone"));
    }

    @Test
    void closedGuardAsksNoMore() {
        guard.close();
        assertThat(guard.isServing()).isFalse();
        pass(DELTA.multipliedBy(2));
        assertThat(lines).noneMatch(line -> line.startsWith("event=marks_"));
    }

    /** In steps as small as an alarm may be. */
    private void pass(Duration whole) {
        for (int i = 0; i < 16; i++) {
            time.pass(whole.dividedBy(16));
        }
    }

    private CompletableFuture<Admission> write(long token) {
        return guard.enterAsync(signed(token), Access.WRITE, Binding.of("orders/42"));
    }

    private static SignedSequencer signed(long token) {
        return KEYS.sign(new Sequencer(
                "palisade",
                new LockName("orders/42"),
                Mode.EXCLUSIVE,
                new FencingToken(token),
                new GrantId(1, token),
                0));
    }
}
