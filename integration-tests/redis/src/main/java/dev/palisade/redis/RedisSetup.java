package dev.palisade.redis;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a {@link RedisProcess} is started with. Starts nothing before {@link #start}; one thread uses it. */
public final class RedisSetup {
    private final List<String> lines = new ArrayList<>();
    private final List<String> arguments = new ArrayList<>();
    private final Map<String, String> environment = new LinkedHashMap<>();
    private RedisBinary binary = RedisBinary.find();

    /** Lines of {@code redis.conf}, after ours and so stronger. {@code tls-port 0} stands for the port that will be chosen. */
    public RedisSetup config(String... more) {
        lines.addAll(Arrays.asList(more));
        return this;
    }

    /** A replica of {@code primary} from its start. */
    public RedisSetup replicaOf(RedisProcess primary) {
        return config("replicaof " + primary.host() + " " + primary.port());
    }

    /** A sentinel in place of a server, which watches {@code primary} as {@code name}. Start replicas before sentinels. */
    public RedisSetup sentinel(String name, RedisProcess primary, int quorum) {
        arguments.add("--sentinel");
        return config("sentinel monitor " + name + " " + primary.host() + " " + primary.port() + " " + quorum);
    }

    /**
     * A variable of its environment, such as {@code LD_PRELOAD}.
     *
     * @throws IllegalArgumentException at {@link #start}, for {@code LD_PRELOAD} and the bundled binary: it would do nothing
     */
    public RedisSetup environment(String name, String value) {
        environment.put(name, value);
        return this;
    }

    /** Another binary than {@link RedisBinary#find}. */
    public RedisSetup binary(RedisBinary other) {
        binary = other;
        return this;
    }

    /**
     * Starts it and returns when it answers.
     *
     * @throws IllegalStateException if it does not, with its log
     */
    public RedisProcess start() {
        if (binary.bundled() && environment.containsKey("LD_PRELOAD")) {
            throw new IllegalArgumentException(
                    binary + " is linked statically and takes no LD_PRELOAD; install Redis, for one on the PATH");
        }
        return RedisProcess.start(this);
    }

    RedisBinary binary() {
        return binary;
    }

    Map<String, String> environment() {
        return environment;
    }

    List<String> arguments() {
        return arguments;
    }

    boolean encrypted() {
        return lines.contains("tls-port 0");
    }

    void writeTo(Path file, int port, Path folder) {
        List<String> all = new ArrayList<>(List.of(
                "bind 127.0.0.1",
                "port " + (encrypted() ? 0 : port),
                "dir \"" + folder + "\"",
                "save \"\"",
                "repl-diskless-sync-delay 0"));
        if (arguments.contains("--sentinel")) {
            all.removeIf(line -> line.startsWith("save") || line.startsWith("repl"));
        }
        lines.forEach(line -> all.add(line.equals("tls-port 0") ? "tls-port " + port : line));
        try {
            Files.write(file, all);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
