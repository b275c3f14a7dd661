package dev.palisade.bench;

import dev.palisade.redis.RedisProcess;
import dev.palisade.scenario.ScenarioFailed;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The Redis of a run: a process of its own, or somebody's. Tells what it uses. */
final class BenchRedis implements AutoCloseable {
    private final @Nullable RedisProcess process;
    private final String uri;
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;

    private BenchRedis(@Nullable RedisProcess process, String uri) {
        this.process = process;
        this.uri = uri;
        client = RedisClient.create(uri);
        connection = client.connect();
    }

    /** @param given somebody's, or null to start one */
    static BenchRedis open(@Nullable String given) {
        try {
            if (given != null) {
                return new BenchRedis(null, given);
            }
            RedisProcess process = RedisProcess.start();
            return new BenchRedis(process, process.uri());
        } catch (RedisException | IllegalStateException | IllegalArgumentException e) {
            throw new ScenarioFailed("no Redis: " + e.getMessage());
        }
    }

    String uri() {
        return uri;
    }

    /** The processor time of the whole process so far, as it tells itself. */
    long cpuNanos() {
        return Math.round((value("cpu", "used_cpu_user") + value("cpu", "used_cpu_sys")) * 1e9);
    }

    /** Bytes that its data takes now. */
    long memory() {
        return Math.round(value("memory", "used_memory"));
    }

    String version() {
        return text("server", "redis_version");
    }

    private double value(String section, String name) {
        return Double.parseDouble(text(section, name));
    }

    private String text(String section, String name) {
        return connection
                .sync()
                .info(section)
                .lines()
                .filter(line -> line.startsWith(name + ":"))
                .map(line -> line.substring(name.length() + 1).strip())
                .findFirst()
                .orElseThrow(() -> new ScenarioFailed("this Redis does not tell " + name));
    }

    @Override
    public void close() {
        connection.close();
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        if (process != null) {
            process.close();
        }
    }
}
