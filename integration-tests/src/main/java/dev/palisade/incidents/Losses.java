package dev.palisade.incidents;

import dev.palisade.redis.RedisProcess;
import java.util.List;

/** Incidents in which a running primary loses or gets what nobody expects, by a hand or by itself. */
final class Losses {
    /** Few and large: then it is soon the turn of a counter. */
    private static final int FILLERS = 16;

    private static final int FILLER_BYTES = 400_000;
    private static final int ROUNDS = 8;

    private Losses() {}

    static void flushAll(Scene<RedisNode> scene) {
        scene.note("FLUSHALL");
        scene.primary().process().ask("FLUSHALL");
    }

    static void keysDeleted(Scene<RedisNode> scene) {
        scene.note("every key is deleted, one by one");
        RedisProcess redis = scene.primary().process();
        redis.ask("KEYS", "*").lines().forEach(key -> redis.ask("DEL", key));
    }

    static void countersDeleted(Scene<RedisNode> scene) {
        boolean byTime = scene.dice().nextBoolean();
        scene.note(byTime ? "counters get an end in time" : "counters are deleted");
        for (String key : counters(scene.primary())) {
            if (byTime) {
                scene.primary().process().ask("PEXPIRE", key, "1");
            } else {
                scene.primary().process().ask("DEL", key);
            }
        }
    }

    static void countersOverwritten(Scene<RedisNode> scene) {
        scene.note("counters are no numbers any more");
        RedisProcess redis = scene.primary().process();
        List<String> counters = counters(scene.primary());
        counters.forEach(key -> redis.ask("SET", key, "none"));
        scene.tokens(5);
        for (String key : counters) {
            if (redis.ask("GET", key).equals("none")) {
                scene.note(key + " is still no number: an operator deletes it");
                redis.ask("DEL", key);
            }
        }
    }

    /** Someone sets a policy that a lock's Redis must not have, and fills it. */
    static void evicted(Scene<RedisNode> scene) {
        RedisProcess redis = scene.primary().process();
        long used = Long.parseLong(redis.info("used_memory"));
        redis.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-random");
        redis.ask("CONFIG", "SET", "maxmemory", Long.toString(used + FILLERS * FILLER_BYTES / 2));
        String filler = "x".repeat(FILLER_BYTES);
        try {
            for (int i = 0; i < ROUNDS * FILLERS; i++) {
                redis.ask("SET", "filler:" + i % FILLERS, filler);
            }
        } catch (IllegalStateException e) {
            scene.note("full: " + e.getMessage());
        }
        redis.ask("CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction");
        for (int i = 0; i < FILLERS; i++) {
            redis.ask("DEL", "filler:" + i);
        }
        scene.note(redis.info("evicted_keys") + " keys were evicted");
    }

    /** What holds a whole number is a counter, whoever's it is. */
    private static List<String> counters(RedisNode node) {
        RedisProcess redis = node.process();
        return redis.ask("KEYS", "*")
                .lines()
                .filter(key -> redis.ask("TYPE", key).equals("string"))
                .filter(key -> redis.ask("GET", key).matches("\\d+"))
                .toList();
    }

    static void functionsFlushed(Scene<RedisNode> scene) {
        scene.note("FUNCTION FLUSH and SCRIPT FLUSH");
        for (int i = 0; i < 3; i++) {
            scene.primary().process().ask("FUNCTION", "FLUSH");
            scene.primary().process().ask("SCRIPT", "FLUSH");
            scene.tokens(5);
        }
    }

    static void librariesReplaced(Scene<RedisNode> scene) {
        scene.note("FUNCTION LOAD REPLACE of what is loaded");
        for (int i = 0; i < 5; i++) {
            replaceLibraries(scene.primary());
            scene.tokens(5);
        }
    }

    /** Loads every library again as it is: its variables are gone. */
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
