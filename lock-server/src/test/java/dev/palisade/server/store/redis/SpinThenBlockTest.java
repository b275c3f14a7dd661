package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.SelectStrategy;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class SpinThenBlockTest {
    private static final int READY = 3;

    /** A clock may be negative. */
    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 10);

    private final SpinThenBlock strategy = new SpinThenBlock(nanos::get);

    @Test
    void blocksUnlessAReplyIsDue() throws Exception {
        assertThat(spins()).isFalse();
        strategy.sent();
        assertThat(spins()).isTrue();
        strategy.replied();
        assertThat(spins()).isFalse();
    }

    @Test
    void spinsForItsTimeAfterTheLastCall() throws Exception {
        strategy.sent();
        nanos.addAndGet(SpinThenBlock.SPIN_NANOS - 1);
        assertThat(spins()).isTrue();
        strategy.sent();
        nanos.addAndGet(SpinThenBlock.SPIN_NANOS - 1);
        assertThat(spins()).isTrue();
        nanos.incrementAndGet();
        assertThat(spins()).isFalse();
    }

    @Test
    void tasksDoNotWaitForAReply() throws Exception {
        strategy.sent();
        assertThat(strategy.calculateStrategy(() -> READY, true)).isEqualTo(READY);
    }

    @Test
    void aDistantRedisIsHardlyPolled() throws Exception {
        assertThat(spinsOf(1_000, true)).isEqualTo(7 + (1_000 - 70) / (SpinThenBlock.SKIPS_MAX + 1));
    }

    @Test
    void aReplyInTimeIsFollowedByAsManyPollsAsBefore() throws Exception {
        spinsOf(1_000, true);
        spinsOf(SpinThenBlock.SKIPS_MAX + 1, false);
        assertThat(spinsOf(100, false)).isEqualTo(100);
        assertThat(spinsOf(2, true)).as("one late reply skips one call").isEqualTo(1);
        assertThat(spinsOf(1, false)).isEqualTo(1);
    }

    /** For how many of these calls the loop polls, each with a reply that is late or at once. */
    private int spinsOf(int calls, boolean late) throws Exception {
        int spun = 0;
        for (int i = 0; i < calls; i++) {
            strategy.sent();
            spun += spins() ? 1 : 0;
            if (late) {
                nanos.addAndGet(SpinThenBlock.SPIN_NANOS);
                assertThat(spins()).isFalse();
            }
            strategy.replied();
        }
        return spun;
    }

    private boolean spins() throws Exception {
        int next = strategy.calculateStrategy(() -> READY, false);
        assertThat(next).isIn(SelectStrategy.SELECT, SelectStrategy.BUSY_WAIT);
        return next == SelectStrategy.BUSY_WAIT;
    }
}
