package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.redis.RedisProcess;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** What is published is heard, on a connection that comes back. */
class ChannelsTest {
    private final List<String> heard = new CopyOnWriteArrayList<>();

    @Test
    void whatIsPublishedIsHeardByWhoSubscribedToIt() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = Linked.open(redis)) {
            listen(link, "one");
            listen(link, "two");
            await().until(() -> publish(redis, "one", "first") == 1 && publish(redis, "two", "second") == 1);
            publish(redis, "three", "not for us");
            publish(redis, "one", "last");

            await().until(() -> heard.contains("one: last"));
            assertThat(heard).contains("one: first", "two: second").doesNotContain("three: not for us");
        }
    }

    @Test
    void itComesBackWhenItsConnectionIsKilled() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = Linked.open(redis)) {
            listen(link, "one");
            await().until(() -> publish(redis, "one", "first") == 1);
            redis.ask("CLIENT", "KILL", "TYPE", "pubsub");

            await().until(() -> publish(redis, "one", "second") == 1);
            await().until(() -> heard.contains("one: second"));
            assertThat(link.state().lastFailure())
                    .as("the other connection goes on")
                    .isEmpty();
        }
    }

    @Test
    void itComesBackAfterARestart() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = Linked.open(redis)) {
            listen(link, "one");
            await().until(() -> publish(redis, "one", "first") == 1);
            redis.kill9();
            redis.restart();

            await().until(() -> publish(redis, "one", "second") == 1);
            await().until(() -> heard.contains("one: second"));
        }
    }

    private void listen(RedisLink link, String channel) {
        link.subscribe(channel, message -> heard.add(channel + ": " + new String(message, StandardCharsets.UTF_8)));
    }

    private static int publish(RedisProcess redis, String channel, String message) {
        return Integer.parseInt(redis.ask("PUBLISH", channel, message));
    }
}
