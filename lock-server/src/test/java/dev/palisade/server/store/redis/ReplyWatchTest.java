package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.SelectStrategy;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ReplyWatchTest {
    private static final int READY = 3;

    /** A clock may be negative. */
    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 10);

    private final ReplyWatch replies = new ReplyWatch(nanos::get);

    @Test
    void sleepsUnlessAReplyIsDue() throws Exception {
        assertThat(withoutTasks()).isEqualTo(SelectStrategy.SELECT);
        replies.called();
        assertThat(withoutTasks()).isEqualTo(SelectStrategy.BUSY_WAIT);
        replies.replied();
        assertThat(withoutTasks()).isEqualTo(SelectStrategy.SELECT);
    }

    @Test
    void looksForAReplyForItsTimeAfterTheLastCall() throws Exception {
        replies.called();
        nanos.addAndGet(ReplyWatch.LOOKS_NANOS - 1);
        assertThat(withoutTasks()).isEqualTo(SelectStrategy.BUSY_WAIT);
        nanos.incrementAndGet();
        assertThat(withoutTasks()).isEqualTo(SelectStrategy.SELECT);
        replies.called();
        assertThat(withoutTasks()).isEqualTo(SelectStrategy.BUSY_WAIT);
    }

    @Test
    void tasksDoNotWaitForAReply() throws Exception {
        replies.called();
        assertThat(replies.calculateStrategy(() -> READY, true)).isEqualTo(READY);
    }

    private int withoutTasks() throws Exception {
        return replies.calculateStrategy(() -> READY, false);
    }
}
