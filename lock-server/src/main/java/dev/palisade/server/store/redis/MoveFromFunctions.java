package dev.palisade.server.store.redis;

import dev.palisade.contract.EventLog;
import dev.palisade.server.store.StoreUnusable;
import io.lettuce.core.cluster.SlotHash;
import java.util.List;
import java.util.concurrent.ExecutionException;

/**
 * Move of a prefix to a log from the functions in which servers of an earlier release kept locks. From then on these functions decide
 * nothing under the prefix, whichever lock server calls them. The log counts tokens above theirs. Keys of locks are deleted, and holders
 * reclaim their leases.
 */
record MoveFromFunctions(RedisLink link, RedisLogConfig config, RedisLogKeys keys, FunctionLibrary library, Loop loop) {
    /** So many domains had a count of tokens each. */
    private static final int DOMAINS = 256;
    /** Locks that are deleted at one time: some milliseconds of Redis. */
    private static final int CLEARED_AT_A_TIME = 500;

    /**
     * Blocks; not for {@code loop}. If it fails it can be repeated.
     *
     * @param keys of the log, which does not exist yet unless a move was made before
     * @param isMoved whether only what is left of a move has to be deleted
     * @param loop the thread of {@code link}
     * @throws StoreUnusable if Redis cannot be reached, or refuses
     */
    static void run(
            RedisLink link,
            RedisLogConfig config,
            RedisLogKeys keys,
            boolean isMoved,
            FunctionLibrary library,
            Loop loop,
            EventLog events)
            throws StoreUnusable, InterruptedException {
        MoveFromFunctions move = new MoveFromFunctions(link, config, keys, library, loop);
        try {
            if (!isMoved) {
                events.tell("moved_from_functions", "tokens_above", move.moveAll());
            }
            for (int domain = 0; domain < DOMAINS; domain++) {
                move.clear(domain);
            }
        } catch (ExecutionException e) {
            throw new StoreUnusable("the locks of the earlier release cannot be moved from Redis "
                    + config.link().uri() + " (" + RedisLog.line(e) + "); start again with --from-functions");
        }
    }

    private byte[] key(int domain, String name) {
        return Call.bytes(config.prefix() + ":{" + domain + "}:" + name);
    }

    /** Returns the largest token. */
    private long moveAll() throws StoreUnusable, ExecutionException, InterruptedException {
        long largest = 0;
        for (int domain = 1; domain < DOMAINS; domain++) {
            largest = moved(List.of(key(domain, "token"), key(domain, "epoch")), largest);
        }
        // The first one last: its mark says that all were moved.
        return moved(
                List.of(key(0, "token"), key(0, "epoch"), Call.bytes(keys.head()), Call.bytes(keys.tokens())), largest);
    }

    private long moved(List<byte[]> ofDomain, long floor)
            throws StoreUnusable, ExecutionException, InterruptedException {
        List<Object> reply = call("palisade_log_move", ofDomain, List.of(LogCodec.number(floor)));
        if (LogCodec.text(reply, 0).equals("missing")) {
            List<?> missing = (List<?>) reply.get(1);
            throw new StoreUnusable("Redis " + config.link().uri() + " does not let this user do "
                    + LogCodec.joined(missing) + ", which --from-functions needs; give it these rights on the keys "
                    + config.prefix() + ":*");
        }
        return LogCodec.number(reply, 1);
    }

    private void clear(int domain) throws StoreUnusable, ExecutionException, InterruptedException {
        List<byte[]> of = List.of(key(domain, "names"), key(domain, "due"), key(domain, "history"));
        List<byte[]> words = List.of(key(domain, "lock:"), LogCodec.number(CLEARED_AT_A_TIME));
        long cleared;
        do {
            cleared = LogCodec.number(call("palisade_log_clear", of, words), 0);
        } while (cleared > 0);
    }

    /** In a cluster the domains have slots of their own. */
    private List<Object> call(String function, List<byte[]> ofDomain, List<byte[]> args)
            throws StoreUnusable, ExecutionException, InterruptedException {
        if (config.link().uri().kind() != StoreUri.Kind.CLUSTER) {
            return link.call(function, ofDomain, args).get();
        }
        int slot = SlotHash.getSlot(ofDomain.get(0));
        try (RedisLink there = RedisLink.open(config.link(), slot, library, loop, EventLog.NONE)) {
            return there.call(function, ofDomain, args).get();
        }
    }
}
