package dev.palisade.server.store.redis;

import static dev.palisade.server.store.redis.Linked.add;
import static dev.palisade.server.store.redis.Linked.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.EventLog;
import dev.palisade.redis.Cutter;
import dev.palisade.redis.RedisProcess;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** When the function library is loaded, and when it is not. */
class FunctionLoaderTest {
    @Test
    void aMissingLibraryIsLoaded() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = open(redis, 1)) {
            assertThat(get(add(link, "k"))).isEqualTo(List.of(1L));
            assertThat(loads(redis)).isEqualTo(1);
        }
    }

    @Test
    void anOlderOneIsReplaced() throws Exception {
        try (RedisProcess redis = RedisProcess.start()) {
            open(redis, 1).close();
            open(redis, 2).close();
            assertThat(redis.ask("FCALL", "linktest_version", "0")).isEqualTo("2");
            assertThat(loads(redis)).isEqualTo(2);
        }
    }

    @Test
    void theSameAndANewerOneAreLeftAlone() throws Exception {
        try (RedisProcess redis = RedisProcess.start()) {
            open(redis, 2).close();
            open(redis, 2).close();
            open(redis, 1).close();
            assertThat(redis.ask("FCALL", "linktest_version", "0")).isEqualTo("2");
            assertThat(loads(redis)).isEqualTo(1);
        }
    }

    @Test
    void aCallThatFindsNoFunctionLoadsThemAndIsRepeated() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = open(redis, 1)) {
            redis.ask("FUNCTION", "FLUSH");
            List<Reply> replies = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                replies.add(add(link, "k"));
            }
            for (Reply reply : replies) {
                get(reply);
            }
            assertThat(redis.ask("GET", "k")).isEqualTo("100");
            assertThat(redis.info("cmdstat_function|load")).as("once for all").startsWith("calls=2,");
        }
    }

    @Test
    void aFunctionThatTheLibraryDoesNotHaveIsNotAskedForEver() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = open(redis, 1)) {
            assertThat(Linked.failure(link.call("linktest_none", List.of(), List.of())))
                    .hasMessageContaining("has lost the function library (ERR Function not found)")
                    .satisfies(failure -> assertThat(failure.isOutcomeUnknown()).isFalse());
        }
    }

    @Test
    void aLibraryThatIsLostOrSetBackWhileNobodyCallsIsLoadedWithinSeconds() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = open(redis, 2)) {
            redis.ask("FUNCTION", "LOAD", "REPLACE", Linked.library(1).code());
            await().until(() -> redis.ask("FCALL", "linktest_version", "0").equals("2"));
            assertThat(LinkState.of(link).up()).isTrue();
        }
    }

    @Test
    void ofManyThatStartAtOnceAllFindTheNewest() throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        try (RedisProcess redis = RedisProcess.start();
                Cutter counter = new Cutter(redis.port())) {
            redis.freeze(); // So that all find the library missing at the same time.
            List<Future<RedisLink>> links = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                long version = i % 2 == 0 ? 1 : 2;
                links.add(threads.submit(() -> open(counter.uri(), version)));
            }
            await().until(() -> counter.written("PING") == 6);
            redis.thaw();
            for (Future<RedisLink> link : links) {
                assertThat(get(add(get(link), "k"))).hasSize(1);
            }
            await().until(() -> redis.ask("FCALL", "linktest_version", "0").equals("2"));
            assertThat(redis.ask("GET", "k")).isEqualTo("6");
            for (Future<RedisLink> link : links) {
                get(link).close();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private static RedisLink open(RedisProcess redis, long version) throws Exception {
        return open(redis.uri(), version);
    }

    private static RedisLink open(String uri, long version) throws Exception {
        return RedisLink.open(
                new RedisLinkConfig(StoreUri.parse(uri), Linked.TIMEOUT),
                0,
                Linked.library(version),
                Linked.LOOP,
                EventLog.NONE);
    }

    /** How often Redis loaded a library. */
    private static long loads(RedisProcess redis) {
        String calls = redis.info("cmdstat_function|load");
        String failed = calls.replaceFirst(".*failed_calls=", "");
        return Long.parseLong(calls.replaceFirst("calls=(\\d+).*", "$1")) - Long.parseLong(failed);
    }
}
