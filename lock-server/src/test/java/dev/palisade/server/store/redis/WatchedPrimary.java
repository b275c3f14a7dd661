package dev.palisade.server.store.redis;

import static org.awaitility.Awaitility.await;

import dev.palisade.redis.RedisProcess;
import dev.palisade.redis.RedisSetup;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** A primary and a replica, watched by three Sentinels that know each other. */
final class WatchedPrimary implements AutoCloseable {
    final RedisProcess primary = RedisProcess.start();
    final RedisProcess replica = new RedisSetup().replicaOf(primary).start();
    final List<RedisProcess> sentinels = new ArrayList<>();

    /** @param atMost until the Sentinels know each other and the replica */
    void start(Duration atMost) {
        await().until(() -> replica.info("master_link_status").equals("up"));
        for (int i = 0; i < 3; i++) {
            sentinels.add(new RedisSetup()
                    .sentinel("main", primary, 2)
                    .config("sentinel down-after-milliseconds main 1000", "sentinel failover-timeout main 5000")
                    .start());
        }
        await().atMost(atMost)
                .until(() -> sentinels.stream()
                        .map(sentinel -> sentinel.ask("SENTINEL", "MASTER", "main"))
                        .allMatch(
                                known -> known.contains("num-slaves\n1") && known.contains("num-other-sentinels\n2")));
    }

    String uri() {
        return "redis-sentinel://"
                + sentinels.stream()
                        .map(sentinel -> "127.0.0.1:" + sentinel.port())
                        .collect(Collectors.joining(","))
                + "#main";
    }

    @Override
    public void close() {
        sentinels.forEach(RedisProcess::close);
        replica.close();
        primary.close();
    }
}
