package dev.palisade.server.store.redis;

import dev.palisade.contract.EventLog;
import dev.palisade.server.store.StoreUnusable;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;

/**
 * Move of a prefix from the functions of {@code --machine functions} to a log. From then on the functions decide nothing under the
 * prefix, whichever lock server calls them. The log counts tokens above theirs. Keys of locks are deleted, and holders reclaim their
 * leases.
 */
final class MoveFromFunctions {
    /** Locks that are deleted at one time: some milliseconds of Redis. */
    private static final int CLEARED_AT_A_TIME = 500;

    private MoveFromFunctions() {}

    /**
     * Blocks; not for {@code loop}. If it fails it can be repeated.
     *
     * @param keys of the log, which does not exist yet unless a move was made before
     * @param isMoved whether only what is left of a move has to be deleted
     * @throws StoreUnusable if Redis cannot be reached, or refuses
     */
    static void run(RedisLogConfig config, RedisLogKeys keys, boolean isMoved, Loop loop, EventLog events)
            throws StoreUnusable, InterruptedException {
        List<Domain> domains = new ArrayList<>(Domain.COUNT);
        for (int number = 0; number < Domain.COUNT; number++) {
            domains.add(new Domain(config.prefix(), number));
        }
        try (RedisLink link = RedisLink.open(config.link(), Library.load(), loop, events)) {
            if (!isMoved) {
                events.tell("moved_from_functions", "tokens_above", moveAll(link, config, domains, keys));
            }
            for (Domain domain : domains) {
                clear(link, domain);
            }
        } catch (ExecutionException e) {
            throw new StoreUnusable("the locks of servers with --machine functions cannot be moved from Redis "
                    + config.link().uri() + " (" + Refusal.of(e).getMessage() + "); start again with --from-functions");
        }
    }

    /** Returns the largest token. */
    private static long moveAll(RedisLink link, RedisLogConfig config, List<Domain> domains, RedisLogKeys keys)
            throws StoreUnusable, ExecutionException, InterruptedException {
        long largest = 0;
        for (Domain domain : domains.subList(1, Domain.COUNT)) {
            largest = moved(link, config, List.of(domain.token, domain.epochKey), largest);
        }
        // The first one last: its mark says that all were moved.
        Domain first = domains.get(0);
        return moved(
                link,
                config,
                List.of(first.token, first.epochKey, Call.bytes(keys.head()), Call.bytes(keys.tokens())),
                largest);
    }

    private static long moved(RedisLink link, RedisLogConfig config, List<byte[]> keys, long floor)
            throws StoreUnusable, ExecutionException, InterruptedException {
        List<Object> reply = link.call("palisade_move", keys, List.of(LogWords.number(floor)))
                .get();
        if (FunctionAnswer.string(reply.get(0)).equals("missing")) {
            List<String> missing = FunctionAnswer.list(reply.get(2)).stream()
                    .map(FunctionAnswer::string)
                    .toList();
            throw new StoreUnusable("Redis " + config.link().uri() + " does not let this user do "
                    + String.join(" ", missing) + ", which --from-functions needs; give it these rights on the keys "
                    + config.prefix() + ":*");
        }
        return (Long) reply.get(2);
    }

    private static void clear(RedisLink link, Domain domain) throws ExecutionException, InterruptedException {
        List<byte[]> words = List.of(domain.lockKeyPrefix(), LogWords.number(CLEARED_AT_A_TIME));
        List<Object> reply;
        do {
            reply = link.call("palisade_clear", List.of(domain.names, domain.due, domain.history), words)
                    .get();
        } while ((Long) reply.get(2) > 0);
    }
}
