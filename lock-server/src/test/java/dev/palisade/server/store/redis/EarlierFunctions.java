package dev.palisade.server.store.redis;

import dev.palisade.contract.LockName;
import dev.palisade.redis.RedisProcess;
import java.util.ArrayList;
import java.util.List;

/**
 * A lock server of an earlier release, as far as Redis notices it: it calls the functions of that release, of which this is the text,
 * loads them where they are missing, and begins an epoch where a function asks for one.
 */
final class EarlierFunctions {
    static final LockName LOCK = new LockName("orders/7");

    private static final String CODE = TestLibrary.resource("earlier-functions");
    private static final int DOMAINS = 256;
    private static final String RECOVERY_MILLIS = "0";

    private final RedisProcess redis;
    private final String prefix;
    private int requests;

    EarlierFunctions(RedisProcess redis, String prefix) {
        this.redis = redis;
        this.prefix = prefix;
        load();
        for (int domain = 0; domain < DOMAINS; domain++) {
            epoch(domain);
        }
    }

    /** As when a call finds no function. */
    void load() {
        redis.ask("FUNCTION", "LOAD", "REPLACE", CODE);
    }

    /** The newest token of the domain of {@code lock}. */
    long token(LockName lock) {
        return Long.parseLong(redis.ask("GET", key(lock, "token")));
    }

    /** Asks for {@code lock}; returns Redis' reply. */
    String acquire(LockName lock) {
        String request = "%024d".formatted(++requests);
        String reply = "";
        for (int attempt = 0; attempt < 2; attempt++) {
            reply = redis.ask(
                    "FCALL",
                    "palisade_acquire",
                    "5",
                    key(lock, "token"),
                    key(lock, "lock:" + lock.value()),
                    key(lock, "due"),
                    key(lock, "names"),
                    key(lock, "history"),
                    "5000 100 100 60000 home",
                    "0",
                    request,
                    "1",
                    request.substring(8),
                    "0",
                    "30000",
                    "0",
                    "owner",
                    "",
                    "0",
                    "0",
                    "10000",
                    "0");
            if (!reply.contains("SUSPECT_PRIMARY")) {
                return reply;
            }
            reply = epoch(0); // First: the keys of a log are there.
            if (!reply.contains("SUSPECT_PRIMARY")) {
                reply = epoch(lock.domain());
            }
        }
        return reply;
    }

    private String epoch(int domain) {
        List<String> keys = new ArrayList<>(List.of(key(domain, "token"), key(domain, "epoch")));
        if (domain == 0) {
            keys.add(prefix + ":{0}:log:head");
        }
        List<String> words = new ArrayList<>(List.of("FCALL", "palisade_epoch", Integer.toString(keys.size())));
        words.addAll(keys);
        String clockMax = Long.toString(System.currentTimeMillis() + 3_600_000);
        words.addAll(List.of("0", "1", RECOVERY_MILLIS, clockMax, "1", "1"));
        return redis.ask(words.toArray(String[]::new));
    }

    private String key(LockName lock, String name) {
        return key(lock.domain(), name);
    }

    private String key(int domain, String name) {
        return prefix + ":{" + domain + "}:" + name;
    }
}
