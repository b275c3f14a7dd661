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
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/** What operators of a service hear of its guard. */
class GuardEventsTest {
    private static final SequencerKeys KEYS = SequencerKeys.generate();
    private static final Duration DELTA = Duration.ofSeconds(30);

    private final ManualTime time = new ManualTime();
    private final SlowMarkStore store = new SlowMarkStore();
    private final List<String> lines = new ArrayList<>();

    private Guard guard = builder().eventLines(lines::add).build();

    private Guard.Builder builder() {
        store.closedInOrder = true;
        return Guard.builder(KEYS.verifier("palisade"), store)
                .executor(Runnable::run)
                .time(time)
                .unknownOutcomeTimeout(DELTA);
    }

    @Test
    void aStaleCallIsOneLineThatSaysWhatItCarriedAndWhoWasAheadOfIt() {
        admitted(write(34)).close();
        sent(write(33));
        assertThat(lines)
                .singleElement()
                .asString()
                .startsWith("event=refused reason=TOKEN_STALE lock=orders/42 resource=orders/42 presented_token=33"
                        + " mark_token=34 mark_grant=" + grant(34)
                        + " superseded_at_millis=1700000000000 message=\"");
    }

    @Test
    void whatIsAdmittedIsNotTold() {
        Admission first = admitted(write(33));
        write(33).join().close();
        first.close();
        assertThat(lines).isEmpty();
    }

    @Test
    void everyKindOfRefusalIsToldOnceWhicheverRuleMadeIt() {
        Admission old = admitted(write(33));
        sent(enter(SequencerKeys.generate().sign(sequencer("orders/42", 40, Mode.EXCLUSIVE)), Access.WRITE));
        sent(enter(signed("other", 40, Mode.EXCLUSIVE), Access.WRITE));
        sent(enter(signed("orders/42", 33, Mode.SHARED), Access.WRITE));
        sent(write(34));
        store.sync();
        time.pass(Guard.Builder.MAX_WAIT_DEFAULT);
        old.close();
        guard.close();
        sent(write(35));
        assertThat(lines)
                .extracting(line -> line.split(" ", 3)[1])
                .containsExactly(
                        "reason=SEQUENCER_INVALID",
                        "reason=WRONG_RESOURCE",
                        "reason=MODE_NOT_ALLOWED",
                        "reason=DRAINING",
                        "reason=MARK_UNAVAILABLE");
    }

    /** A forger, or a queue of waiting calls, must not hide the line about somebody who writes late. */
    @Test
    void aFloodOfOneReasonIsBoundedAndHidesNoOther() {
        admitted(write(34)).close();
        for (int i = 0; i < 1_000; i++) {
            sent(enter(signed("other", 40, Mode.EXCLUSIVE), Access.WRITE));
        }
        sent(write(33));
        time.pass(Duration.ofSeconds(1));
        sent(write(33));
        assertThat(lines)
                .hasSize(13)
                .anyMatch(line -> line.startsWith("event=refused reason=TOKEN_STALE"))
                .contains("event=refused reason=WRONG_RESOURCE not_shown=990");
    }

    @Test
    void aGuardThatOnlyObservesSaysSoInEachLine() {
        guard = builder().observeOnly().eventLines(lines::add).build();
        sent(write(34));
        sent(write(33));
        sent(enter(signed("other", 40, Mode.EXCLUSIVE), Access.WRITE));
        assertThat(lines)
                .hasSize(2)
                .allMatch(
                        line -> line.contains(" observed=yes message=\"would have been refused, and was let through: "))
                .satisfiesExactly(
                        line -> assertThat(line).contains("TOKEN_STALE", "mark_token=34"),
                        line -> assertThat(line).contains("WRONG_RESOURCE"));
    }

    @Test
    void aCallThatWasLostSightOfIsToldWhenItBeginsToCountAndWhenItsTimeIsOver() {
        Admission lost = admitted(write(33));
        var ignored = lost.outcomeUnknown();
        lost.outcomeUnknown();
        String of = " lock=orders/42 resource=orders/42 token=33 ";
        assertThat(lines).containsExactly("event=quarantine_began" + of + "ends_in_ms=30000");
        time.pass(DELTA);
        lost.close();
        assertThat(lines).hasSize(2).last().isEqualTo("event=quarantine_over" + of + "end=assumed");
    }

    @Test
    void aCallWhoseEndIsKnownAfterAllIsToldAsThatAndOnce() {
        Admission lost = admitted(write(33));
        var ignored = lost.outcomeUnknown();
        lost.close();
        time.pass(DELTA);
        assertThat(lines).hasSize(2).last().asString().endsWith("end=known");
    }

    /** The name stands in the manual, for whoever wants them elsewhere or not at all. */
    @Test
    void theyGoToASystemLoggerThatCanBeTurnedOff() {
        List<LogRecord> heard = new ArrayList<>();
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord record) {
                heard.add(record);
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        Logger log = Logger.getLogger("dev.palisade.guard.events");
        log.addHandler(handler);
        log.setUseParentHandlers(false);
        try {
            guard = builder().build();
            sent(enter(signed("other {0}", 40, Mode.EXCLUSIVE), Access.WRITE));
            assertThat(heard).singleElement().satisfies(record -> {
                assertThat(record.getLevel()).isEqualTo(Level.INFO);
                assertThat(record.getMessage()).startsWith("event=refused reason=WRONG_RESOURCE");
            });
            log.setLevel(Level.OFF);
            sent(enter(signed("other", 40, Mode.EXCLUSIVE), Access.WRITE));
            assertThat(heard).hasSize(1);
        } finally {
            log.removeHandler(handler);
            log.setUseParentHandlers(true);
            log.setLevel(null);
        }
    }

    private CompletableFuture<Admission> write(long token) {
        return enter(signed("orders/42", token, Mode.EXCLUSIVE), Access.WRITE);
    }

    private CompletableFuture<Admission> enter(SignedSequencer signed, Access access) {
        return guard.enterAsync(signed, access, Binding.of("orders/42"));
    }

    /** How it ends is in the log, or is to be. */
    private static void sent(CompletableFuture<Admission> call) {
        assertThat(call).isNotNull();
    }

    private Admission admitted(CompletableFuture<Admission> call) {
        store.sync();
        assertThat(call).isCompleted();
        return call.join();
    }

    private static SignedSequencer signed(String lock, long token, Mode mode) {
        return KEYS.sign(sequencer(lock, token, mode));
    }

    private static Sequencer sequencer(String lock, long token, Mode mode) {
        return new Sequencer("palisade", new LockName(lock), mode, new FencingToken(token), grant(token), 0);
    }

    private static GrantId grant(long token) {
        return new GrantId(1, token);
    }
}
