package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.guard.redis.RedisRegister;
import dev.palisade.guard.redis.TestFields;
import dev.palisade.redis.TestRedis;
import io.lettuce.core.AclSetuserArgs;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.NullUnmarked;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

@NullUnmarked
class SharedRegisterOnRedisTest extends SharedRegisterContract {
    private static final RedisClient CLIENT = RedisClient.create(TestRedis.get().uri());
    private static final StatefulRedisConnection<String, String> CONNECTION = CLIENT.connect();
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final String name = TestRedis.get().newPrefix();
    private final String key = TestFields.key(name);
    private final RedisCommands<String, String> redis = CONNECTION.sync();

    @AfterAll
    static void end() {
        CLIENT.shutdown(0, 0, TimeUnit.SECONDS);
    }

    @Test
    void waitingCallIsWokenByPublish() {
        try (StatefulRedisPubSubConnection<String, String> listening = CLIENT.connectPubSub()) {
            String channel = key + ":left";
            assertThatWaitingCallsAreWoken(
                    RedisRegister.shared(CONNECTION, name, Duration.ofMinutes(5), listening),
                    () -> redis.pubsubNumsub(channel).get(channel) == 1);
            assertThat(rows()).noneMatch(ResourceRow::awaited);
        }
    }

    @Test
    void userWithoutTheChannelIsRefusedInOneLine() {
        redis.aclSetuser(
                "deaf",
                AclSetuserArgs.Builder.on().nopass().allKeys().allCommands().resetChannels());
        try (StatefulRedisPubSubConnection<String, String> listening = CLIENT.connectPubSub(deaf())) {
            assertThatThrownBy(() -> builder(RedisRegister.shared(CONNECTION, name, Duration.ofMinutes(5), listening))
                            .build())
                    .isInstanceOf(RejectedException.class)
                    .hasMessageContaining("cannot subscribe to '" + key + ":left'")
                    .hasMessageNotContaining("\n");
            assertThat(guards()).isEmpty();
        } finally {
            redis.aclDeluser("deaf");
        }
    }

    private static RedisURI deaf() {
        RedisURI uri = RedisURI.create(TestRedis.get().uri());
        uri.setAuthentication("deaf", "any".toCharArray());
        return uri;
    }

    private BrokenFields broken() {
        return new BrokenFields(TestFields.of(CONNECTION, name, TIMEOUT));
    }

    @Override
    MarkStore store(Duration lease) {
        return RedisRegister.shared(CONNECTION, name, lease);
    }

    @Override
    MarkStore fastStore() {
        return RedisRegister.shared(CONNECTION, name, MarkStore.SHARED_LEASE_DEFAULT, CLIENT.connectPubSub());
    }

    @Override
    MarkStore brokenStore(Random random) {
        return MarkStore.shared(
                BrokenFields.atRandom(TestFields.of(CONNECTION, name, TIMEOUT), random), Duration.ofMinutes(5));
    }

    @Override
    Doubts doubts() {
        BrokenFields fields = broken();
        return new Doubts() {
            @Override
            public MarkStore store(Duration lease) {
                return MarkStore.shared(fields, lease);
            }

            @Override
            public void takeEffect(@Nullable Boolean effect) {
                fields.takeEffect = effect;
            }

            @Override
            public void breakTheNextWrite() {
                fields.takeEffect = true;
            }
        };
    }

    @Override
    Failures failures() {
        BrokenFields fields = broken();
        return new Failures() {
            @Override
            public MarkStore store(Duration lease) {
                return MarkStore.shared(fields, lease);
            }

            @Override
            public void failWith(@Nullable Throwable failure) {
                fields.failure = failure;
            }

            @Override
            public AtomicInteger count() {
                return fields.failures;
            }
        };
    }

    @Override
    void empty() {
        redis.del(key);
    }

    @Override
    void createNeverUsed() {
        RedisRegister.createNeverUsed(CONNECTION, name);
    }

    private Stream<ResourceRow> rows() {
        return redis.hgetall(key).entrySet().stream()
                .filter(field -> field.getKey().startsWith("row:"))
                .map(field -> ResourceRow.parse(field.getKey().substring(4), field.getValue()));
    }

    private Stream<RegisteredCall> entries() {
        List<String> guards = guards();
        return rows().flatMap(row -> row.calls().stream()).filter(call -> guards.contains(call.guard()));
    }

    private List<String> guards() {
        return redis.hkeys(key).stream()
                .filter(field -> field.startsWith("guard:"))
                .map(field -> field.substring(6))
                .toList();
    }

    @Override
    long calls() {
        return entries().count();
    }

    @Override
    long quarantinedCalls() {
        return entries().filter(RegisteredCall::quarantined).count();
    }

    @Override
    long highestMark() {
        return rows().filter(row -> row.mark() != null)
                .mapToLong(row -> row.mark().mark().exclusiveToken())
                .max()
                .orElse(0);
    }

    @Override
    long highestSharedMark() {
        return rows().filter(row -> row.mark() != null)
                .mapToLong(row -> row.mark().mark().sharedToken())
                .max()
                .orElse(0);
    }

    private RegisterHeader header() {
        return RegisterHeader.parse(redis.hget(key, "state"));
    }

    @Override
    long epoch() {
        return header().epoch();
    }

    @Override
    long settledEpoch() {
        return header().settled();
    }

    @Override
    long registration() {
        String kept = redis.hget(key, "registrations");
        return kept == null || kept.isEmpty() ? -1 : Long.parseLong(kept.split(" ", 2)[0]);
    }

    @Override
    String guardOfOnlyCall() {
        return entries().findFirst().orElseThrow().guard();
    }

    @Override
    void endGuard(String id) {
        redis.hdel(key, "guard:" + id);
    }

    @Override
    void endAllGuards() {
        guards().forEach(this::endGuard);
    }

    @Override
    void setLease(long millis) {
        guards().forEach(id -> redis.hset(key, "guard:" + id, millis + " owner"));
    }

    @Override
    void setDeltaToZero() {
        RegisterHeader now = header();
        redis.hset(
                key,
                "state",
                new RegisterHeader(
                                now.generation(),
                                now.marksId(),
                                now.process(),
                                now.epoch(),
                                now.settled(),
                                now.complete(),
                                now.used(),
                                now.forgot(),
                                0,
                                0)
                        .text());
    }

    @Override
    void assertThatTheGuideListsIt(String guard) {
        Map<String, String> listed = redis.hscan(
                        key, io.lettuce.core.ScanArgs.Builder.matches("guard:*").limit(100_000))
                .getMap();
        assertThat(listed).containsKey("guard:" + guard);
    }

    /** Lua has doubles only. */
    @Test
    void largestTokensAreComparedExactly() {
        Guard one = guard();
        Guard two = guard();
        admitted(write(one, FencingToken.MAX - 1)).close();
        admitted(write(two, FencingToken.MAX)).close();
        assertThat(refused(write(one, FencingToken.MAX - 1)).reason()).isEqualTo(Reason.TOKEN_STALE);
        admitted(write(one, FencingToken.MAX)).close();
    }
}
