package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.Holder;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.Waiter;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import org.junit.jupiter.api.Test;

class LockTextTest {
    private static final Clock CLOCK = Clock.fixed(Instant.parse("2026-11-21T12:00:30Z"), ZoneOffset.ofHours(1));
    private static final Holder HOLDER = Holder.newBuilder()
            .setOwner("a\u001b[31m")
            .setToken(33)
            .setMode(Mode.EXCLUSIVE)
            .setHeldMillis(30_000)
            .setRemainingMillis(7_000)
            .setSession("0a1b2c3d")
            .build();
    private static final Waiter WAITER = Waiter.newBuilder()
            .setOwner("b")
            .setPurpose("dump")
            .setMode(Mode.SHARED)
            .setWaitedMillis(20_000)
            .setOffered(true)
            .build();

    private static DescribeReply lock(List<Holder> holders, int total, long delayMillis) {
        return DescribeReply.newBuilder()
                .setLock("x")
                .addAllHolders(holders)
                .setHoldersTotal(total)
                .addWaiters(WAITER)
                .setWaitersTotal(3)
                .setLockDelayRemainingMillis(delayMillis)
                .build();
    }

    @Test
    void aLockIsShownWithItsHoldersItsQueueAndHowManyAreLeftOut() {
        assertThat(LockText.shown(lock(List.of(HOLDER), 1, 0), CLOCK)).isEqualTo("""
                        x: held

                        HOLDER       PURPOSE  MODE       TOKEN  SINCE                                 LEASE ENDS IN
                        a\\u{1b}[31m  -        exclusive  33     30 s ago (2026-11-21T13:00:00+01:00)  7.0 s

                        #  WAITER  PURPOSE  MODE    SINCE
                        1  b       dump     shared  20 s ago (2026-11-21T13:00:10+01:00)  offered
                        and 2 more
                        """);
    }

    @Test
    void stateIsOneOfSix() {
        assertThat(LockText.row(lock(List.of(HOLDER), 1, 0)).get(1)).isEqualTo("held");
        assertThat(LockText.row(lock(List.of(HOLDER), 4, 0)).get(1)).isEqualTo("held by 4");
        assertThat(LockText.row(lock(List.of(), 0, 3_000)).get(1)).isEqualTo("free, in lock-delay for another 3.0 s");
        assertThat(LockText.row(lock(List.of(), 0, 0)).get(1)).isEqualTo("offered to a waiter");
        assertThat(LockText.state(DescribeReply.getDefaultInstance())).isEqualTo("free");
    }

    @Test
    void aMinimumHoldTimeIsShownWhetherTheLockIsHeldOrNot() {
        DescribeReply held = lock(List.of(HOLDER), 1, 0).toBuilder()
                .setMinimumHoldRemainingMillis(4_000)
                .build();
        assertThat(LockText.shown(held, CLOCK)).startsWith("x: held\nminimum hold time: another 4.0 s\n\nHOLDER");
        DescribeReply over = lock(List.of(), 0, 3_000).toBuilder()
                .setMinimumHoldRemainingMillis(4_000)
                .build();
        assertThat(LockText.state(over)).isEqualTo("free, in its minimum hold time for another 4.0 s");
        assertThat(LockText.state(
                        over.toBuilder().setMinimumHoldRemainingMillis(2_000).build()))
                .isEqualTo("free, in lock-delay for another 3.0 s");
    }

    @Test
    void theJsonIsOneLineWithTheShapeOfTheReferencePage() {
        assertThat(LockText.json(lock(List.of(HOLDER), 1, 1_500)))
                .hasToString(
                        "{\"lock\":\"x\",\"holders\":[{\"session\":\"0a1b2c3d\",\"owner\":\"a\\u001b[31m\",\"principal\":\"\",\"purpose\":\"\",\"token\":33,"
                                + "\"mode\":\"EXCLUSIVE\",\"held_millis\":30000,\"remaining_millis\":7000}],\"holders_total\":1,"
                                + "\"waiters\":[{\"session\":\"\",\"owner\":\"b\",\"principal\":\"\",\"purpose\":\"dump\",\"mode\":\"SHARED\",\"waited_millis\":20000,"
                                + "\"offered\":true}],\"waiters_total\":3,\"lock_delay_millis\":1500,\"minimum_hold_millis\":0}");
    }

    @Test
    void negativeNumbersFromServerAreNotPrinted() {
        Holder holder = HOLDER.toBuilder()
                .setHeldMillis(-5_000)
                .setRemainingMillis(Long.MIN_VALUE)
                .build();
        DescribeReply lock = lock(List.of(holder), 1, -1).toBuilder()
                .setWaiters(0, WAITER.toBuilder().setWaitedMillis(-9))
                .setWaitersTotal(-3)
                .build();
        assertThat(LockText.shown(lock, CLOCK))
                .contains("33     ?      ?\n", "dump     shared  ?      offered")
                .doesNotContain("-5", "-9", "0.0 s");
        assertThat(LockText.row(lock)).containsExactly("x", "held", "33", "?", "?", "a\u001b[31m");
        assertThat(LockText.json(lock).toString())
                .doesNotContain("-5", "-9", "held_millis", "lock_delay", "waiters_total");
        assertThat(LockText.holder(holder, CLOCK)).isEqualTo("a\\u{1b}[31m, token 33");
    }
}
