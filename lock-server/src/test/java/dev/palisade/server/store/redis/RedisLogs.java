package dev.palisade.server.store.redis;

import dev.palisade.contract.EventLog;
import dev.palisade.redis.RedisProcess;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.FencedLog;
import dev.palisade.server.store.log.SharedLogs;
import dev.palisade.server.store.log.SigningKeys;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;

/** A log in a Redis of the test's own, shared by any number of clients, whose clock is in the test's hand. */
public final class RedisLogs implements SharedLogs {
    public static final String PREFIX = NAME;

    public final RedisProcess redis;
    final Queue<String> events = new ConcurrentLinkedQueue<>();
    private final Queue<String> warnings = new ConcurrentLinkedQueue<>();
    private final Random random = new Random(1);
    private long millis;

    public RedisLogs(long millis) {
        this.redis = RedisProcess.start();
        this.millis = millis;
    }

    @Override
    public FencedLog open(String address, SigningKeys keys) throws StoreUnusable, InterruptedException {
        return open(redis.uri(), address, keys, Duration.ofSeconds(2), TestLibrary.log(), true);
    }

    FencedLog open(String uri, String address, Duration timeout, String code)
            throws StoreUnusable, InterruptedException {
        return open(uri, address, timeout, code, true);
    }

    FencedLog open(String uri, String address, Duration timeout, String code, boolean init)
            throws StoreUnusable, InterruptedException {
        return open(uri, address, ANY_KEYS, timeout, code, init);
    }

    private FencedLog open(String uri, String address, SigningKeys keys, Duration timeout, String code, boolean init)
            throws StoreUnusable, InterruptedException {
        FencedLog log = RedisLog.open(
                new RedisLogConfig(
                        new RedisLinkConfig(StoreUri.parse(uri), timeout),
                        PREFIX,
                        address,
                        init ? RedisLogConfig.Start.NEW : RedisLogConfig.Start.CAREFUL,
                        RECOVERY_MILLIS,
                        CLAIM_MILLIS,
                        SETTLE_MILLIS,
                        SharedLogs.settings(address)),
                keys,
                Library.of("palisade_log", code),
                Linked.LOOP,
                random,
                new EventLog(
                        events::add,
                        line -> {
                            events.add(line);
                            warnings.add(line);
                        },
                        System::nanoTime,
                        1_000));
        if (code.contains("palisade_log_test_set")) {
            set("a0", false);
        }
        return log;
    }

    @Override
    public List<String> warnings() {
        return List.copyOf(warnings);
    }

    @Override
    public void pass(long more) {
        millis = Long.parseLong(redis.ask("FCALL", "palisade_log_test_pass", "0", Long.toString(more)));
    }

    @Override
    public void lose(Loss what) {
        switch (what) {
            case ALL -> redis.ask("FLUSHALL");
            case BATCHES -> redis.ask("DEL", "p:{0}:log:1");
            case HEAD -> redis.ask("DEL", "p:{0}:log:head");
            case LATER_BATCHES -> {
                for (int number = 40; number < 75; number++) {
                    redis.ask("HDEL", "p:{0}:log:1", String.valueOf(number));
                }
            }
        }
    }

    @Override
    public void restart() {
        set("b1", true);
    }

    @Override
    public String head(String field) {
        return redis.ask("HGET", "p:{0}:log:head", field);
    }

    @Override
    public long batches() {
        return Long.parseLong(redis.ask("HLEN", "p:{0}:log:" + head("generation")));
    }

    @Override
    public List<String> generations() {
        String begin = "p:{0}:log:";
        return redis.ask("KEYS", "p:*")
                .lines()
                .map(key -> key.substring(begin.length()))
                .filter(last -> !last.equals("head") && !last.equals("token"))
                .toList();
    }

    /** @param forgets whether the process forgets what it saw, as by a restart */
    public void set(String instance, boolean forgets) {
        redis.ask("FCALL", "palisade_log_test_set", "0", Long.toString(millis), instance, forgets ? "1" : "0", "0");
    }

    @Override
    public void cut() {
        redis.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    }

    @Override
    public void close() {
        redis.close();
    }
}
