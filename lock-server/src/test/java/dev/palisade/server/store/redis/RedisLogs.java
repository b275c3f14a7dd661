package dev.palisade.server.store.redis;

import dev.palisade.contract.EventLog;
import dev.palisade.redis.RedisProcess;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.FencedLog;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;

/** A log in a Redis of the test's own, shared by any number of clients, whose clock is in the test's hand. */
public final class RedisLogs implements AutoCloseable {
    public static final String PREFIX = "p";
    public static final long CLAIM_MILLIS = 2_000;
    public static final long SETTLE_MILLIS = 1_000;
    public static final long RECOVERY_MILLIS = 10_000;

    public final RedisProcess redis;
    final Queue<String> events = new ConcurrentLinkedQueue<>();
    private final Queue<String> warnings = new ConcurrentLinkedQueue<>();
    private final Random random = new Random(1);
    private long millis;

    public RedisLogs(long millis) {
        this.redis = RedisProcess.start();
        this.millis = millis;
    }

    public FencedLog open(String address) throws StoreUnusable, InterruptedException {
        return open(redis.uri(), address, Duration.ofSeconds(2), TestLibrary.log());
    }

    FencedLog open(String uri, String address, Duration timeout, String code)
            throws StoreUnusable, InterruptedException {
        return open(uri, address, timeout, code, true);
    }

    FencedLog open(String uri, String address, Duration timeout, String code, boolean init)
            throws StoreUnusable, InterruptedException {
        FencedLog log = RedisLog.open(
                new RedisLogConfig(
                        new RedisLinkConfig(StoreUri.parse(uri), timeout),
                        PREFIX,
                        address,
                        init ? RedisLogConfig.Start.NEW : RedisLogConfig.Start.CAREFUL,
                        RECOVERY_MILLIS,
                        CLAIM_MILLIS,
                        SETTLE_MILLIS),
                Library.of("palisade_log", code),
                Linked.LOOP,
                random,
                new EventLog(events::add, warnings::add, System::nanoTime, 1_000));
        if (code.contains("palisade_log_test_set")) {
            set("a0", false);
        }
        return log;
    }

    /** Lines of level WARN so far. */
    public List<String> warnings() {
        return List.copyOf(warnings);
    }

    public void pass(long more) {
        millis = Long.parseLong(redis.ask("FCALL", "palisade_log_test_pass", "0", Long.toString(more)));
    }

    /** @param forgets whether the process forgets what it saw, as by a restart */
    public void set(String instance, boolean forgets) {
        redis.ask("FCALL", "palisade_log_test_set", "0", Long.toString(millis), instance, forgets ? "1" : "0", "0");
    }

    /** Every connection breaks. */
    public void cut() {
        redis.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    }

    @Override
    public void close() {
        redis.close();
    }
}
