package dev.palisade.server.store.redis;

import static dev.palisade.server.store.redis.Linked.add;
import static dev.palisade.server.store.redis.Linked.all;
import static dev.palisade.server.store.redis.Linked.failure;
import static dev.palisade.server.store.redis.Linked.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.redis.RedisProcess;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RedisLinkTest {
    @Test
    void aFunctionAnswersNumbersTextsNothingAndLists() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = Linked.open(redis)) {
            List<Object> answer = get(link.call("linktest_shapes", List.of(), all("æ")));

            assertThat(answer.get(0)).isEqualTo(7L);
            assertThat(answer.get(1)).isEqualTo(Linked.bytes("text"));
            assertThat(answer.get(2)).isNull();
            assertThat((List<?>) answer.get(3)).hasSize(2).first().isEqualTo(1L);
            assertThat((Object) ((List<?>) ((List<?>) answer.get(3)).get(1)).get(0))
                    .isEqualTo(Linked.bytes("æ"));
        }
    }

    @Test
    void aStateTellsOfThePrimary() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = Linked.open(redis)) {
            LinkState state = LinkState.of(link);

            assertThat(state.up()).isTrue();
            assertThat(state.primary()).isEqualTo(redis.host() + ":" + redis.port());
            assertThat(state.replicationId()).isEqualTo(redis.info("master_replid"));
            assertThat(state.lastFailure()).isEmpty();
        }
    }

    @Test
    void findPrimaryLeavesTheSuspectedConnectionOnlyOnce() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = Linked.open(redis)) {
            Reply first = add(link, "k");
            get(first);
            RedisConnection suspected = first.from();

            get(link.findPrimary(first, "of a test"));
            Reply second = add(link, "k");
            assertThat(get(second)).isEqualTo(List.of(2L));
            assertThat(second.from()).isNotSameAs(suspected);
            assertThat(LinkState.of(link).lastFailure())
                    .isEqualTo("Redis 127.0.0.1:" + redis.port() + " may not be the primary any more: of a test");

            get(link.findPrimary(first, "of a test"));
            Reply third = add(link, "k");
            get(third);
            assertThat(third.from()).isSameAs(second.from());
        }
    }

    @Test
    void callsInFlightAreAnsweredWhenTheirConnectionIsLeft() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = Linked.open(redis)) {
            Reply first = add(link, "k");
            get(first);
            List<Reply> inFlight = new ArrayList<>();
            for (int i = 0; i < 1000; i++) {
                inFlight.add(add(link, "k"));
            }
            var found = link.findPrimary(first, "of a test");
            for (Reply reply : inFlight) {
                get(reply);
            }
            get(found);
            assertThat(redis.ask("GET", "k")).isEqualTo("1001");
        }
    }

    @Test
    void aClosedLinkLeavesNoConnectionThoughItsLoopGoesOn() throws Exception {
        try (RedisProcess redis = RedisProcess.start()) {
            int before = clients(redis);
            RedisLink link = Linked.open(redis);
            await().until(() -> clients(redis) == before + 1);
            link.close();

            await().until(() -> clients(redis) == before);
        }
    }

    private static int clients(RedisProcess redis) {
        return Integer.parseInt(redis.info("connected_clients"));
    }

    @Test
    void whatIsCalledAfterTheEndFails() throws Exception {
        try (RedisProcess redis = RedisProcess.start()) {
            RedisLink link = Linked.open(redis);
            link.close();

            assertThat(failure(add(link, "k")))
                    .hasMessage("the link to Redis is closed")
                    .satisfies(failed -> assertThat(failed.isOutcomeUnknown()).isFalse());
        }
    }
}
