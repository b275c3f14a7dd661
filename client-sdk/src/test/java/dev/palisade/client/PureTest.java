package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Reply;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The small pure parts, each as a trace with explicit times. */
class PureTest {
    private static final long MS = 1_000_000;

    @Nested
    class OfBackoff {
        @Test
        void atOnceThenTwentyMillisDoublingToASecond() {
            Backoff backoff = new Backoff(() -> 0);
            assertThat(LongStream.range(0, 9).map(i -> failed(backoff, 0)))
                    .containsExactly(0L, 20L, 40L, 80L, 160L, 320L, 640L, 1_000L, 1_000L);
            backoff.reset();
            assertThat(failed(backoff, 0)).isZero();
        }

        @Test
        void jitterTakesAwayAtMostHalf() {
            Backoff backoff = new Backoff(() -> 1);
            assertThat(LongStream.range(0, 3).map(i -> failed(backoff, 0))).containsExactly(0L, 10L, 20L);
        }

        @Test
        void eachServerIsTriedBeforeAWaitForATakeover() {
            Backoff backoff = new Backoff(() -> 0);
            for (int i = 0; i < 6; i++) {
                failed(backoff, 0);
            }
            assertThat(LongStream.range(0, 4).map(i -> standby(backoff, 100))).containsExactly(0L, 0L, 100L, 100L);
        }

        @Test
        void aTakeoverKeepsWaitsShortForThreeSeconds() {
            Backoff backoff = new Backoff(() -> 0);
            for (int i = 0; i < 9; i++) {
                standby(backoff, 0);
            }
            assertThat(failed(backoff, 2_999)).as("of the server that stopped").isEqualTo(100);
            assertThat(standby(backoff, 3_000)).isGreaterThan(100);
            backoff.reset();
            assertThat(standby(backoff, 60_000)).as("another takeover").isZero();
        }

        private long failed(Backoff backoff, long atMillis) {
            return backoff.nextDelayNanos(false, 3, atMillis * MS) / MS;
        }

        private long standby(Backoff backoff, long atMillis) {
            return backoff.nextDelayNanos(true, 3, atMillis * MS) / MS;
        }
    }

    @Nested
    class OfSendTimeHistory {
        private final SendTimeHistory times = new SendTimeHistory();

        @Test
        void anEchoIsTheReadingAtItsSending() {
            times.record(new ClockReading(1_000 * MS, 7_000));
            times.record(new ClockReading(2_000 * MS, 8_000));
            assertThat(times.at(2_000 * MS)).isEqualTo(new ClockReading(2_000 * MS, 8_000));
            assertThat(times.at(1_000 * MS)).isEqualTo(new ClockReading(1_000 * MS, 7_000));
        }

        @Test
        void unseenNeverSentAndTooEarlyEchoesHaveNoReading() {
            assertThat(times.at(5)).isNull();
            times.record(new ClockReading(1_000 * MS, 7_000));
            assertThat(times.at(0)).isNull();
            assertThat(times.at(1_000 * MS + 1)).isNull();
            assertThat(times.at(1_000 * MS - 1)).isNull();
        }

        @Test
        void withinTheSpacingTheEarlierWallClockCounts() {
            times.record(new ClockReading(1_000 * MS, 7_000));
            times.record(new ClockReading(1_040 * MS, 90_000));
            assertThat(times.at(1_040 * MS)).isEqualTo(new ClockReading(1_040 * MS, 7_000));
        }

        @Test
        void whatIsTooOldIsForgotten() {
            for (long i = 1; i <= 1_000; i++) {
                times.record(new ClockReading(i * 50 * MS, i * 50));
            }
            assertThat(times.at(50_000 * MS)).isNotNull();
            assertThat(times.at(40_000 * MS)).isNull();
        }
    }

    @Nested
    class OfTimerQueue {
        private final TimerQueue timers = new TimerQueue();
        private final List<String> ran = new ArrayList<>();

        @Test
        void whatIsDueComesInOrderAndOnce() {
            timers.add(30, () -> ran.add("30"));
            timers.add(10, () -> ran.add("10 a"));
            timers.add(10, () -> ran.add("10 b"));
            assertThat(timers.nextDueNanos()).hasValue(10);
            runDue(9);
            assertThat(ran).isEmpty();
            runDue(30);
            assertThat(ran).containsExactly("10 a", "10 b", "30");
            runDue(1_000);
            assertThat(ran).hasSize(3);
            assertThat(timers.nextDueNanos()).isEmpty();
        }

        @Test
        void theEndOfTheNumberLineIsNoEnd() {
            timers.add(Long.MIN_VALUE + 5, () -> ran.add("after"));
            timers.add(Long.MAX_VALUE - 5, () -> ran.add("before"));
            runDue(Long.MAX_VALUE);
            assertThat(ran).containsExactly("before");
            runDue(Long.MIN_VALUE + 5);
            assertThat(ran).containsExactly("before", "after");
        }

        @Test
        void whatIsCancelledNeverComes() {
            timers.cancel(timers.add(10, () -> ran.add("never")));
            timers.cancel(null);
            runDue(100);
            assertThat(ran).isEmpty();
        }

        private void runDue(long now) {
            for (Runnable due = timers.pollDue(now); due != null; due = timers.pollDue(now)) {
                due.run();
            }
        }
    }

    @Nested
    class OfLivenessDetector {
        private final LivenessDetector liveness = new LivenessDetector(5_000 * MS);
        private final OptionalLong none = OptionalLong.empty();

        @Test
        void withoutACallThereIsNoDeadline() {
            assertThat(liveness.deadlineNanos(none, none, OptionalLong.of(1_000)))
                    .isEmpty();
        }

        @Test
        void halfTheSmallestTtlAndAtMostTheCallTimeout() {
            OptionalLong sent = OptionalLong.of(100 * MS);
            assertThat(liveness.deadlineNanos(sent, none, OptionalLong.of(3_000)))
                    .hasValue(1_600 * MS);
            assertThat(liveness.deadlineNanos(sent, none, OptionalLong.of(60_000)))
                    .hasValue(5_100 * MS);
            assertThat(liveness.deadlineNanos(none, sent, none)).hasValue(5_100 * MS);
        }

        @Test
        void anotherReplyExcusesASlowCallButNoKeepAlive() {
            OptionalLong sent = OptionalLong.of(100 * MS);
            liveness.replied(2_000 * MS);
            assertThat(liveness.deadlineNanos(none, sent, none)).hasValue(7_000 * MS);
            assertThat(liveness.deadlineNanos(sent, none, none)).hasValue(5_100 * MS);
            assertThat(liveness.deadlineNanos(sent, sent, none)).hasValue(5_100 * MS);
        }
    }

    @Nested
    class OfOutbox {
        private final ClockReading now = new ClockReading(1, 1);

        @Test
        void urgentOnesGoFirstAndNoMoreThanAllowed() {
            Outbox outbox = new Outbox(2);
            PendingCall ordinary = call(false);
            PendingCall urgent = call(true);
            outbox.add(ordinary);
            outbox.add(urgent);
            outbox.add(call(false));
            List<Call> calls = outbox.take(now, 256);
            assertThat(calls).hasSize(2);
            assertThat(outbox.take(now, 256)).isEmpty();
            assertThat(outbox.remove(calls.get(0).getCallId()))
                    .isNotNull()
                    .extracting(Outbox.InFlightCall::call)
                    .isSameAs(urgent);
            assertThat(outbox.remove(calls.get(0).getCallId())).isNull();
            assertThat(outbox.take(now, 256)).hasSize(1);
        }

        @Test
        void whatWasGivenUpBeforeItWentIsNotSent() {
            Outbox outbox = new Outbox(10);
            PendingCall call = call(false);
            outbox.add(call);
            call.markDone();
            assertThat(outbox.take(now, 256)).isEmpty();
            assertThat(outbox.oldestSentNanos()).isEmpty();
        }

        @Test
        void aFrameTakesNoMoreThanItMay() {
            Outbox outbox = new Outbox(1_000);
            for (int i = 0; i < 300; i++) {
                outbox.add(call(false));
            }
            assertThat(outbox.take(now, 256)).hasSize(256);
            assertThat(outbox.take(now, 256)).hasSize(44);
        }

        private static PendingCall call(boolean urgent) {
            return new PendingCall() {
                @Override
                Call.Builder call(ClockReading at) {
                    return Call.newBuilder();
                }

                @Override
                void onReply(Reply reply, ClockReading sent) {}

                @Override
                boolean isUrgent() {
                    return urgent;
                }
            };
        }
    }

    @Nested
    class OfRetryDelay {
        @Test
        void whenTheServerSaysElseDoublingToASecond() {
            RetryDelay retryDelay = new RetryDelay();
            assertThat(retryDelay.nextNanos(told("250"))).isEqualTo(250 * MS);
            assertThat(retryDelay.nextNanos(told("-1"))).isEqualTo(MS);
            assertThat(retryDelay.nextNanos(told("99999999"))).isEqualTo(10_000 * MS);
            assertThat(retryDelay.nextNanos(told("soon"))).isEqualTo(50 * MS);
            assertThat(LongStream.range(0, 6).map(i -> retryDelay.nextNanos() / MS))
                    .containsExactly(100L, 200L, 400L, 800L, 1_000L, 1_000L);
        }

        private static Rejection told(String millis) {
            return new Rejection(Reason.RECOVERING, "grace", Map.of(Rejection.RETRY_AFTER_MILLIS, millis));
        }
    }
}
