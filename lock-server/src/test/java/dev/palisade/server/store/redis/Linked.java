package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.EventLog;
import dev.palisade.redis.RedisProcess;
import dev.palisade.server.store.StoreFailure;
import dev.palisade.server.store.StoreUnusable;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** What the tests of the link share: a small library, and words for asking it. */
final class Linked {
    static final Duration TIMEOUT = Duration.ofSeconds(2);

    /** One for all links of the process: each leaves it as it was. */
    static final Loop LOOP = new Loop();

    private Linked() {}

    /** Functions that count how often they ran, in {@code KEYS[1]}. */
    static FunctionLibrary library(long version) {
        return new FunctionLibrary("linktest", version, """
                #!lua name=linktest
                redis.register_function('linktest_version', function() return %d end)
                redis.register_function('linktest_add', function(keys, args)
                  return redis.call('INCRBY', keys[1], args[1])
                end)
                redis.register_function('linktest_shapes', function(keys, args)
                  return {7, 'text', false, {1, {args[1]}}}
                end)
                redis.register_function('linktest_fail', function(keys, args)
                  redis.call('INCRBY', keys[1], 1)
                  return redis.call('LPUSH', keys[1], 1)
                end)
                redis.register_function('linktest_slow', function(keys, args)
                  local from = redis.call('TIME')
                  repeat
                    local now = redis.call('TIME')
                  until (now[1] - from[1]) * 1000 + (now[2] - from[2]) / 1000 > tonumber(args[1])
                  return { 1 }
                end)
                redis.register_function('linktest_loop', function(keys, args)
                  while true do end
                end)
                """.formatted(version));
    }

    static RedisLink open(RedisProcess redis) throws StoreUnusable, InterruptedException {
        return open(redis.uri());
    }

    static RedisLink open(String uri) throws StoreUnusable, InterruptedException {
        return open(uri, TIMEOUT);
    }

    static RedisLink open(String uri, Duration timeout) throws StoreUnusable, InterruptedException {
        return open(uri, 0, timeout);
    }

    static RedisLink open(String uri, int slot, Duration timeout) throws StoreUnusable, InterruptedException {
        RedisLinkConfig config = new RedisLinkConfig(StoreUri.parse(uri), timeout);
        return RedisLink.open(config, slot, library(1), LOOP, EventLog.NONE);
    }

    static Reply add(RedisLink link, String key) {
        return link.call("linktest_add", List.of(bytes(key)), List.of(bytes("1")));
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static List<byte[]> all(String... texts) {
        return Arrays.stream(texts).map(Linked::bytes).toList();
    }

    static <T> T get(Future<T> future) throws InterruptedException, ExecutionException, TimeoutException {
        return future.get(60, TimeUnit.SECONDS);
    }

    static StoreFailure failure(Future<?> future) {
        try {
            Object answer = get(future);
            throw new AssertionError("answered " + answer);
        } catch (ExecutionException e) {
            assertThat(e.getCause()).isInstanceOf(StoreFailure.class);
            return (StoreFailure) Objects.requireNonNull(e.getCause());
        } catch (InterruptedException | TimeoutException e) {
            throw new AssertionError(e);
        }
    }

    /** But the loop. A thread's end is a moment after the end of its work. */
    static void awaitNoThread() {
        await().untilAsserted(() -> assertThat(Thread.getAllStackTraces().keySet())
                .extracting(Thread::getName)
                .noneMatch(name -> name.startsWith("lettuce")));
    }
}
