package dev.palisade.incidents;

import dev.palisade.redis.RedisProcess;
import java.util.List;

/** Incidents in which a running primary loses or changes data. */
final class DataLossFaults {
    /** Few and large values, so that a counter is evicted soon. */
    private static final int FILLERS = 16;

    private static final int FILLER_BYTES = 400_000;
    private static final int ROUNDS = 8;

    private DataLossFaults() {}

    static void flushAll(FaultContext<RedisNode> context) {
        context.note("FLUSHALL");
        context.primary().process().ask("FLUSHALL");
    }

    static void keysDeleted(FaultContext<RedisNode> context) {
        context.note("every key is deleted, one by one");
        RedisProcess redis = context.primary().process();
        redis.ask("KEYS", "*").lines().forEach(key -> redis.ask("DEL", key));
    }

    static void countersDeleted(FaultContext<RedisNode> context) {
        boolean byTime = context.dice().nextBoolean();
        context.note(byTime ? "counters get an end in time" : "counters are deleted");
        for (String key : counters(context.primary())) {
            if (byTime) {
                context.primary().process().ask("PEXPIRE", key, "1");
            } else {
                context.primary().process().ask("DEL", key);
            }
        }
    }

    static void countersOverwritten(FaultContext<RedisNode> context) {
        context.note("counters are no numbers any more");
        RedisProcess redis = context.primary().process();
        List<String> counters = counters(context.primary());
        counters.forEach(key -> redis.ask("SET", key, "none"));
        context.tokens(5);
        for (String key : counters) {
            if (redis.ask("GET", key).equals("none")) {
                context.note(key + " is still no number: an operator deletes it");
                redis.ask("DEL", key);
            }
        }
    }

    /** Sets an eviction policy that a Redis for locks must not have, and fills the memory. */
    static void evicted(FaultContext<RedisNode> context) {
        RedisProcess redis = context.primary().process();
        long used = Long.parseLong(redis.info("used_memory"));
        redis.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-random");
        redis.ask("CONFIG", "SET", "maxmemory", Long.toString(used + FILLERS * FILLER_BYTES / 2));
        String filler = "x".repeat(FILLER_BYTES);
        try {
            for (int i = 0; i < ROUNDS * FILLERS; i++) {
                redis.ask("SET", "filler:" + i % FILLERS, filler);
            }
        } catch (IllegalStateException e) {
            context.note("full: " + e.getMessage());
        }
        redis.ask("CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction");
        for (int i = 0; i < FILLERS; i++) {
            redis.ask("DEL", "filler:" + i);
        }
        context.note(redis.info("evicted_keys") + " keys were evicted");
    }

    /** The keys with an integer value: the counters of all issuers. */
    private static List<String> counters(RedisNode node) {
        RedisProcess redis = node.process();
        return redis.ask("KEYS", "*")
                .lines()
                .filter(key -> redis.ask("TYPE", key).equals("string"))
                .filter(key -> redis.ask("GET", key).matches("\\d+"))
                .toList();
    }

    static void functionsFlushed(FaultContext<RedisNode> context) {
        context.note("FUNCTION FLUSH and SCRIPT FLUSH");
        for (int i = 0; i < 3; i++) {
            context.primary().process().ask("FUNCTION", "FLUSH");
            context.primary().process().ask("SCRIPT", "FLUSH");
            context.tokens(5);
        }
    }

    static void librariesReplaced(FaultContext<RedisNode> context) {
        context.note("FUNCTION LOAD REPLACE of what is loaded");
        for (int i = 0; i < 5; i++) {
            replaceLibraries(context.primary());
            context.tokens(5);
        }
    }

    /** Reloads every library, which loses its variables. */
    static void replaceLibraries(RedisNode node) {
        String all = "\n" + node.process().ask("FUNCTION", "LIST", "WITHCODE");
        for (String library : all.split("\nlibrary_code\n", -1)) {
            int end = library.indexOf("\nlibrary_name\n");
            String code = end < 0 ? library : library.substring(0, end);
            if (code.startsWith("#!")) {
                node.process().ask("FUNCTION", "LOAD", "REPLACE", code);
            }
        }
    }
}
