package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.Reason;
import dev.palisade.redis.RedisProcess;
import dev.palisade.server.core.Answer;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Lock servers that were started with {@code --init}: it is about the log that each of them saw first. */
@Execution(ExecutionMode.CONCURRENT)
class InitTest {
    @Test
    void aStandbyTakesALossOfDataForNoNewLog() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                SharedLogStore a = new SharedLogStore(redis.uri(), "a:1", RedisLogConfig.Start.NEW, false)) {
            await().until(a::isActive);
            try (SharedLogStore b = new SharedLogStore(redis.uri(), "b:1", RedisLogConfig.Start.NEW, false)) {
                await().until(() -> b.events.stream().anyMatch(line -> line.contains("standby")));
                a.granted("held");
                redis.kill9();
                redis.restart();
                AtomicReference<Object> answer = new AtomicReference<>();
                await().until(() -> Stream.of(a, b)
                        .map(server -> server.tryLock("held"))
                        .peek(answer::set)
                        .anyMatch(Answer.class::isInstance));
                assertThat(answer.get())
                        .isInstanceOfSatisfying(
                                Answer.Refused.class,
                                refused ->
                                        assertThat(refused.rejection().reason()).isEqualTo(Reason.RECOVERING));
            }
        }
    }
}
