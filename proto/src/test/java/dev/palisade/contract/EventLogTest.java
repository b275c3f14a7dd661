package dev.palisade.contract;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class EventLogTest {
    private final List<String> lines = new ArrayList<>();
    private final AtomicLong nanos = new AtomicLong(-5);
    private final EventLog log = new EventLog(lines::add, nanos::get, 3);

    @Test
    void anEventIsOneLineOfPairs() {
        log.tell("lease_expired", "lock", "orders/42", "token", 34, "owner", "job 7", "purpose", "");
        assertThat(lines).containsExactly("event=lease_expired lock=orders/42 token=34 owner=\"job 7\" purpose=\"\"");
    }

    @Test
    void whatAStrangerWroteBreaksNoLineAndPassesForNoPair() {
        log.tell("refused", "owner", "x\" event=epoch_started token=1\r\n2026 \u001b[2J\u2028\u202e\u0085\\");
        assertThat(lines)
                .containsExactly("event=refused owner=\"x\\\" event=epoch_started token=1\\u000d\\u000a2026"
                        + " \\u001b[2J\\u2028\\u202e\\u0085\\\\\"");
        log.tell("refused", "owner", "\u00e9t\u00e9=1");
        assertThat(lines.get(1)).isEqualTo("event=refused owner=\"\u00e9t\u00e9=1\"");
        log.tell("refused", "owner", "a".repeat(10_000));
        assertThat(lines.get(2)).hasSizeLessThan(350).endsWith("a...");
    }

    /** The remedy is at its end. */
    @Test
    void aMessageOfOurOwnIsNotCutWhereAStrangersValueIs() {
        String message = "m".repeat(1_500);
        log.tell("warned", "message", message, "owner", "a".repeat(301));
        assertThat(lines).containsExactly("event=warned message=" + message + " owner=" + "a".repeat(300) + "...");
        log.tell("warned", "message", "m".repeat(10_000));
        assertThat(lines.get(1)).hasSizeLessThan(1_550).endsWith("m...");
    }

    @Test
    void ofOneEventSoManyLinesASecondAndThenHowManyMore() {
        for (int i = 0; i < 100; i++) {
            log.tell("flood", "i", i);
        }
        log.tell("other");
        assertThat(lines).containsExactly("event=flood i=0", "event=flood i=1", "event=flood i=2", "event=other");
        log.flush();
        nanos.addAndGet(999_999_999);
        log.flush();
        assertThat(lines).hasSize(4);
        nanos.addAndGet(1);
        log.flush();
        log.flush();
        assertThat(lines).hasSize(5).last().isEqualTo("event=flood not_shown=97");
        log.tell("flood", "i", 100);
        assertThat(lines).last().isEqualTo("event=flood i=100");
    }

    @Test
    void whatWasLeftOutIsToldBeforeTheNextEventToo() {
        for (int i = 0; i < 4; i++) {
            log.tell("flood");
        }
        nanos.addAndGet(1_000_000_000);
        log.tell("other");
        assertThat(lines).endsWith("event=flood not_shown=1", "event=other");
    }

    @Test
    void whatAnOperatorDidIsNeverLeftOutAndTakesNobodysPlace() {
        for (int i = 0; i < 5; i++) {
            log.tellAlways("forced", "why", "two words");
        }
        log.tell("forced");
        assertThat(lines)
                .hasSize(6)
                .startsWith("event=forced why=\"two words\"")
                .last()
                .isEqualTo("event=forced");
        nanos.addAndGet(1_000_000_000);
        log.flush();
        assertThat(lines).hasSize(6);
    }

    @Test
    void aRefusalTellsWhatItKnowsAndNothingThatItWasGiven() {
        Rejection stale = new Rejection(Reason.TOKEN_STALE, "too late")
                .with(Rejection.MARK_TOKEN, "34")
                .with(Rejection.LOCK, "orders/42")
                .with("forged=yes key", "x")
                .with(Rejection.PRESENTED_TOKEN, "33");
        log.refused(stale, "observed", "yes");
        assertThat(lines)
                .containsExactly("event=refused reason=TOKEN_STALE lock=orders/42 presented_token=33 mark_token=34"
                        + " observed=yes message=\"too late\"");
    }

    @Test
    void aFloodOfOneReasonHidesNoOther() {
        for (int i = 0; i < 10; i++) {
            log.refused(new Rejection(Reason.MALFORMED_REQUEST, "bug"));
        }
        log.refused(new Rejection(Reason.QUEUE_FULL, "full"));
        assertThat(lines).hasSize(4).last().isEqualTo("event=refused reason=QUEUE_FULL message=full");
        nanos.addAndGet(1_000_000_000);
        log.flush();
        assertThat(lines).hasSize(5).last().isEqualTo("event=refused reason=MALFORMED_REQUEST not_shown=7");
    }
}
